// SPDX-License-Identifier: Apache-2.0
//
// How long a message of a collective may be.
// Invariant: the test that ends a process runs in a child.
#include "collectives/message.hpp"

#include <gtest/gtest.h>

#include "pe_threads.hpp"

namespace meshmem {
namespace {

// Shows a message and reads it again. Returns its last byte if all of it has come.
int send_to_itself(std::size_t bytes) {
  PeThreads job(1, 4096);
  int seen = 0;
  job.run([&](PeThreads::Pe& pe) {
    NodeTeam team = pe.world();
    const std::vector<std::byte> data(bytes, std::byte{0x85});
    std::vector<std::byte> read(bytes);
    const std::uint64_t sequence = begin_operation(team);
    post_message(team, sequence, data.data(), bytes);
    receive_message(team, sequence, read.data(), bytes, 0);
    if (read == data) seen = static_cast<int>(read.back());
  });
  return seen;
}

TEST(Message, MayFillItsStage) {
  EXPECT_EQ(send_to_itself(1), 0x85);
  EXPECT_EQ(send_to_itself(kLinesBytes + 1), 0x85);
  EXPECT_EQ(send_to_itself(kStageBytes), 0x85);
}

TEST(Message, LongerThanItsStageEndsTheProgram) {
  EXPECT_EXIT(send_to_itself(kStageBytes + 1), testing::ExitedWithCode(1),
              "a unit test .*: a message of 65537 bytes .* is too long; 65536 bytes are the most");
}

// Also when the shift cuts the number, and on a line that has seen no chunk for 2^48 operations.
TEST(ChunkEpoch, GrowsWithOperationsAndTheirChunks) {
  constexpr int kMost = static_cast<int>(kMostChunks);
  for (const std::uint64_t sequence :
       {std::uint64_t{1}, (std::uint64_t{1} << 49) - 1, (std::uint64_t{1} << 50) - 1,
        (std::uint64_t{1} << 63) - 1, ~std::uint64_t{0}}) {
    const std::uint64_t epoch = chunk_epoch(sequence, kMost);
    EXPECT_TRUE(has_reached(chunk_epoch(sequence + 1, 1), epoch)) << sequence;
    EXPECT_FALSE(has_reached(epoch, chunk_epoch(sequence + 1, 1))) << sequence;
    EXPECT_FALSE(has_reached(chunk_epoch(sequence, kMost - 1), epoch)) << sequence;
    EXPECT_FALSE(has_reached(chunk_epoch(sequence - (std::uint64_t{1} << 48), kMost), epoch));
  }
}

}  // namespace
}  // namespace meshmem
