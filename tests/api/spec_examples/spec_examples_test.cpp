// SPDX-License-Identifier: Apache-2.0
//
// Runs the examples of examples.h, several times each: their static variables are used again.
#include <gtest/gtest.h>
#include <shmem.h>

#include "examples.h"

namespace {

void run(const SpecExample* examples) {
  for (int round = 0; round < 3; ++round) {
    for (const SpecExample* example = examples; example->name; ++example) {
      EXPECT_EQ(example->run(), 0) << example->name << ", round " << round;
      shmem_barrier_all();
    }
  }
}

TEST(SpecExamples, OfTransfersHold) { run(transfer_examples); }
TEST(SpecExamples, OfAtomicsHold) { run(atomic_examples); }
TEST(SpecExamples, OfCollectivesHold) { run(collective_examples); }
TEST(SpecExamples, OfTeamsHold) { run(team_examples); }
TEST(SpecExamples, OfContextsHold) { run(context_examples); }
TEST(SpecExamples, OfWaitsHold) { run(wait_examples); }
TEST(SpecExamples, OfProfilingHold) { run(profiling_examples); }

}  // namespace
