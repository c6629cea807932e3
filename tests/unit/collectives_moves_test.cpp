// SPDX-License-Identifier: Apache-2.0
//
// Each host collective that moves data, with PEs that are threads over plain memory. The tests use
// lengths on both sides of every change of algorithm, strides, and an element after each dest that
// nobody may write.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "blocks.hpp"
#include "collectives/data_movement.hpp"
#include "pe_threads.hpp"

namespace meshmem {
namespace {

using Pe = PeThreads::Pe;

// A PE's heap: the source, and from here on the dest.
constexpr std::size_t kHalf = 200 * 1024;

class Moves : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Pes, Moves, testing::Values(1, 2, 3, 4, 5, 7, 8),
                         [](const auto& info) { return std::to_string(info.param); });

// Lengths on both sides of every change of algorithm.
const std::size_t kLengths[] = {
    0, 1, 7, 55, 56, 57, 200, 1009, 4096, 4097, 16384, 16385, 32 * 1024, 32 * 1024 + 1, 70'001};

TEST_P(Moves, BroadcastGivesAllTheSourceOfTheRoot) {
  PeThreads job(GetParam(), 2 * kHalf);
  job.run([](Pe& pe) {
    NodeTeam team = pe.world();
    for (const std::size_t bytes : kLengths) {
      for (int root = 0; root < team.n; ++root) {
        for (const bool in_place : {false, true}) {
          std::byte* dest = in_place ? pe.heap : pe.heap + kHalf;
          put_block(pe.heap, block_of(pe.number, bytes, bytes));
          dest[bytes] = std::byte{99};
          broadcast(team, dest, pe.heap, bytes, root);
          EXPECT_EQ(Bytes(dest, dest + bytes), block_of(root, bytes, bytes)) << bytes;
          EXPECT_EQ(dest[bytes], std::byte{99});
        }
      }
    }
  });
}

constexpr std::size_t kGathered = 8 * 71'000;

TEST_P(Moves, FcollectGivesAllTheBlocksInPeOrder) {
  PeThreads job(GetParam(), kHalf + kGathered);
  job.run([](Pe& pe) {
    NodeTeam team = pe.world();
    for (const std::size_t bytes : kLengths) {
      const Bytes expected = joined_blocks(
          team.n, [&](int) { return bytes; }, 1);
      std::byte* dest = pe.heap + kHalf;
      put_block(pe.heap, block_of(pe.number, bytes, 1));
      dest[expected.size()] = std::byte{99};
      fcollect(team, dest, pe.heap, bytes);
      EXPECT_EQ(Bytes(dest, dest + expected.size()), expected) << bytes;
      EXPECT_EQ(dest[expected.size()], std::byte{99});
    }
  });
}

TEST_P(Moves, CollectJoinsBlocksOfDifferentLengths) {
  PeThreads job(GetParam(), kHalf + kGathered);
  job.run([](Pe& pe) {
    NodeTeam team = pe.world();
    for (const std::size_t bytes : kLengths) {
      const Bytes expected = joined_blocks(
          team.n, [&](int other) { return uneven(bytes, other); }, 2);
      std::byte* dest = pe.heap + kHalf;
      const Bytes mine = block_of(pe.number, uneven(bytes, pe.number), 2);
      put_block(pe.heap, mine);
      dest[expected.size()] = std::byte{99};
      collect(team, dest, pe.heap, mine.size());
      EXPECT_EQ(Bytes(dest, dest + expected.size()), expected) << bytes;
      EXPECT_EQ(dest[expected.size()], std::byte{99});
    }
  });
}

struct Shape {
  std::size_t elem_bytes, count;
  std::ptrdiff_t dest_stride, source_stride;
};

void expect_alltoall(const Pe& pe, NodeTeam& team, const Shape& shape) {
  const auto elems = shape.count * static_cast<std::size_t>(team.n);
  const auto at = [&](std::byte* buffer, std::size_t elem, std::ptrdiff_t stride) {
    return buffer + elem * static_cast<std::size_t>(stride) * shape.elem_bytes;
  };
  std::byte* dest = pe.heap + kHalf;
  const std::size_t dest_bytes =
      elems * static_cast<std::size_t>(shape.dest_stride) * shape.elem_bytes;
  std::memset(dest, 99, dest_bytes);
  Bytes expected(dest, dest + dest_bytes);
  for (std::size_t i = 0; i < elems; ++i)
    put_block(at(pe.heap, i, shape.source_stride), block_of(pe.number, shape.elem_bytes, i));
  for (std::size_t i = 0; i < elems; ++i) {
    const std::size_t theirs = static_cast<std::size_t>(team.me) * shape.count + i % shape.count;
    put_block(at(expected.data(), i, shape.dest_stride),
              block_of(static_cast<int>(i / shape.count), shape.elem_bytes, theirs));
  }
  alltoall(team, alltoalls_of(dest, pe.heap, shape.elem_bytes, shape.count, shape.dest_stride,
                              shape.source_stride));
  EXPECT_EQ(Bytes(dest, dest + dest_bytes), expected)
      << shape.count << " x " << shape.elem_bytes << " bytes, strides " << shape.dest_stride << ", "
      << shape.source_stride;
}

TEST_P(Moves, AlltoallTurnsBlocksOfAnyStride) {
  PeThreads job(GetParam(), 2 * kHalf);
  job.run([](Pe& pe) {
    NodeTeam team = pe.world();
    for (const std::size_t elem_bytes : {1, 4, 8, 16}) {
      for (const std::size_t count : {0, 1, 2, 7, 33, 300}) {
        expect_alltoall(pe, team, {elem_bytes, count, 1, 1});
        expect_alltoall(pe, team, {elem_bytes, count, 3, 1});
        expect_alltoall(pe, team, {elem_bytes, count, 1, 2});
        expect_alltoall(pe, team, {elem_bytes, count, 2, 3});
      }
    }
  });
}

}  // namespace
}  // namespace meshmem
