// SPDX-License-Identifier: Apache-2.0
//
// The comparison that fence and quiet make. If another thread has completed the work, a thread
// whose quiet finds nothing under way sees what the work has stored. ThreadSanitizer judges.
#include "base/waiting/pending_work.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace meshmem {
namespace {

TEST(PendingWork, WhatAnotherThreadCompletedIsDoneForTheAsker) {
  PendingWork work;
  int delivered = 0;
  work.count_issued();
  std::thread other([&] {
    delivered = 1;
    work.note_completed(1);
  });
  while (work.is_under_way()) std::this_thread::yield();
  EXPECT_EQ(delivered, 1);
  other.join();
}

TEST(PendingWork, AnEarlierCountChangesNothing) {
  PendingWork work;
  for (int i = 0; i < 3; ++i) work.count_issued();
  work.note_completed(3);
  work.note_completed(2);
  EXPECT_FALSE(work.is_under_way());
  work.count_issued();
  EXPECT_TRUE(work.is_under_way());
}

}  // namespace
}  // namespace meshmem
