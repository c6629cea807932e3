// SPDX-License-Identifier: Apache-2.0
//
// Blocks that are too large for packets and wide lines to all: kernels push them, relays hand them
// on, or copies bring them.
// Invariant: as in on_stream_test.cpp, nothing is waited for but the stream.
#include <algorithm>

#include "stream.hpp"

namespace meshmem {
namespace {

// Bytes of a block that kernels push. With two PEs, copy engines bring it where there are any.
size_t large_block() {
  if (is_on_emulated_gpu()) return size_t{600} << 10;
  if (n_pes() == 2) return is_on_gpu() ? size_t{97} << 20 : size_t{600} << 10;
  return is_on_gpu() ? size_t{3} << 20 : size_t{100} << 10;
}

// Each PE's block is already in its place in the dest.
TEST(LargeBlocksOnStream, AreCollectedInPlace) {
  const size_t most = large_block();
  Stream stream;
  const auto n = static_cast<size_t>(n_pes()), me = static_cast<size_t>(my_pe());
  PlacedArray<unsigned char> all(Place::device, n * most);
  for (const size_t bytes : {most, most - 13}) {
    SCOPED_TRACE(testing::Message() << bytes << " bytes");
    std::vector<unsigned char> mine(n * most);
    for (size_t i = 0; i < bytes; ++i) mine[me * bytes + i] = byte_of(me, i);
    all.write(mine);
    shmem_barrier_all();
    EXPECT_EQ(shmemx_fcollectmem_on_stream(SHMEM_TEAM_WORLD, all.data(), all.data() + me * bytes,
                                           bytes, stream),
              0);
    stream.finish();
    expect_each("fcollect", all.read().data(), n * bytes,
                [&](size_t i) { return byte_of(i / bytes, i % bytes); });
    shmem_barrier_all();
  }
}

// Relays hand blocks of any root on, by wide lines, in place or not.
TEST(LargeBlocksOnStream, OfBroadcastsReachAll) {
  if (kSanitized) GTEST_SKIP() << "it takes long";
  const size_t of_relays = is_on_gpu() ? size_t{65} << 20 : size_t{1} << 20;
  const size_t most = std::max(of_relays, large_block());
  Stream stream;
  const auto me = static_cast<size_t>(my_pe());
  PlacedArray<unsigned char> source(Place::device, most), dest(Place::device, most);
  std::vector<unsigned char> mine(most);
  for (size_t i = 0; i < most; ++i) mine[i] = byte_of(me, i);
  for (const size_t bytes : {most, most - 41, most / 4 + 40}) {
    for (int root = 0; root < n_pes(); ++root) {
      SCOPED_TRACE(testing::Message() << bytes << " bytes of PE " << root);
      const auto expected = [&](size_t i) { return byte_of(static_cast<size_t>(root), i); };
      source.write(mine);
      shmem_barrier_all();
      EXPECT_EQ(shmemx_broadcastmem_on_stream(SHMEM_TEAM_WORLD, dest, source, bytes, root, stream),
                0);
      EXPECT_EQ(
          shmemx_broadcastmem_on_stream(SHMEM_TEAM_WORLD, source, source, bytes, root, stream), 0);
      stream.finish();
      expect_each("broadcast", dest.read().data(), bytes, expected);
      expect_each("broadcast in place", source.read().data(), bytes, expected);
      shmem_barrier_all();
    }
  }
}

// Broadcasts of every root one after another, on GPUs by wide lines. Sizes and addresses are
// multiples of 16 bytes or not. The last block of threads has as much as the others, or little.
TEST(LargeBlocksOnStream, OfBroadcastsFollowEachOther) {
  if (kSanitized) GTEST_SKIP() << "it takes long";
  const size_t shrunk = is_on_gpu() && !is_on_emulated_gpu() ? 1 : 256;
  const size_t mib = (size_t{1} << 20) / shrunk;
  const std::vector<size_t> sizes{64 * mib, 65 * mib + 16, 32 * mib - 16, 64 * mib + 8,
                                  64 * mib + 1040};
  size_t all = 0;
  for (const size_t bytes : sizes) all += bytes + 16;
  Stream stream;
  const auto n = static_cast<size_t>(n_pes()), me = static_cast<size_t>(my_pe());
  PlacedArray<unsigned char> source(Place::device, all + 16), dest(Place::device, all + 16);
  std::vector<unsigned char> mine(all + 16);
  for (size_t i = 0; i < mine.size(); ++i) mine[i] = byte_of(me, i);
  source.write(mine);
  for (const size_t off_source : {size_t{0}, size_t{3}}) {
    for (const size_t off_dest : {size_t{0}, size_t{8}}) {
      SCOPED_TRACE(testing::Message() << off_source << " and " << off_dest << " bytes further");
      shmem_barrier_all();
      size_t at = 0, root = 0;
      for (const size_t bytes : sizes) {
        shmemx_broadcastmem_on_stream(SHMEM_TEAM_WORLD, dest.data() + at + off_dest,
                                      source.data() + at + off_source, bytes,
                                      static_cast<int>(root++ % n), stream);
        at += (bytes + 15) / 16 * 16;
      }
      stream.finish();
      const std::vector<unsigned char> got = dest.read();
      at = root = 0;
      for (const size_t bytes : sizes) {
        SCOPED_TRACE(testing::Message() << bytes << " bytes");
        expect_each("broadcast", got.data() + at + off_dest, bytes,
                    [&](size_t i) { return byte_of(root % n, at + off_source + i); });
        ++root;
        at += (bytes + 15) / 16 * 16;
      }
    }
  }
}

// In a team without the first PE, each member's number in the team differs from its number in the
// world. If data goes to the wrong number, the test waits until its time is up.
TEST(LargeBlocksOnStream, OfBroadcastsReachTheMembersOfATeam) {
  if (kSanitized) GTEST_SKIP() << "it takes long";
  if (n_pes() == 1) GTEST_SKIP() << "there is no such team";
  const size_t shrunk = is_on_gpu() && !is_on_emulated_gpu() ? 1 : 256;
  const size_t mib = (size_t{1} << 20) / shrunk, most = 64 * mib + 16;
  Stream stream;
  const auto me = static_cast<size_t>(my_pe());
  PlacedArray<unsigned char> source(Place::device, most), dest(Place::device, most);
  std::vector<unsigned char> mine(most);
  for (size_t i = 0; i < most; ++i) mine[i] = byte_of(me, i);
  source.write(mine);
  shmem_team_t team = SHMEM_TEAM_INVALID;
  ASSERT_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 1, n_pes() - 1, nullptr, 0, &team), 0);
  for (const size_t bytes : {most, 5 * mib + 8}) {
    for (int root = 0; root < n_pes() - 1; ++root) {
      SCOPED_TRACE(testing::Message() << bytes << " bytes of member " << root);
      dest.write(std::vector<unsigned char>(most));
      shmem_barrier_all();
      if (team != SHMEM_TEAM_INVALID) {
        EXPECT_EQ(shmemx_broadcastmem_on_stream(team, dest, source, bytes, root, stream), 0);
        stream.finish();
      }
      shmem_barrier_all();  // then nothing comes any more to a PE that is not a member
      const size_t reached = team == SHMEM_TEAM_INVALID ? 0 : bytes;
      expect_each("broadcast", dest.read().data(), most, [&](size_t i) {
        return i < reached ? byte_of(static_cast<size_t>(root) + 1, i) : 0;
      });
      shmem_barrier_all();
    }
  }
  shmem_team_destroy(team);
}

// Blocks of all kinds one after another on one stream: pushed by kernels with lines before and
// after, or lines or packets as a whole. They lie at multiples of 16 bytes or not.
TEST(LargeBlocksOnStream, FollowSmallOnes) {
  const size_t shrunk = is_on_emulated_gpu() ? 64 : is_on_gpu() ? 1 : 16;
  const size_t mib = (size_t{1} << 20) / shrunk;
  const auto n = static_cast<size_t>(n_pes()), me = static_cast<size_t>(my_pe());
  const std::vector<size_t> sizes{5 * mib,          8,       3 * mib - 13, 3 * mib,
                                  700 * mib / 1024, 3 * mib, 40 << 10,     4 * mib + mib / 64,
                                  2 * mib + 13};
  size_t most = 0, all = 0;
  for (const size_t bytes : sizes) most = std::max(most, bytes), all += bytes + 16;
  Stream stream;
  PlacedArray<unsigned char> source(Place::device, n * most + 16),
      collected(Place::device, n * all), swapped(Place::device, n * all);
  std::vector<unsigned char> mine(n * most + 16);
  for (const size_t off : {size_t{0}, size_t{8}, size_t{5}}) {
    SCOPED_TRACE(testing::Message() << off << " bytes after a multiple of 16");
    const auto term = [off](size_t pe, size_t i) { return byte_of(pe + 100 * off, i); };
    for (size_t i = 0; i < n * most; ++i) mine[off + i] = term(me, i);
    source.write(mine);
    shmem_barrier_all();
    size_t at = off;
    for (const size_t bytes : sizes) {
      shmemx_fcollectmem_on_stream(SHMEM_TEAM_WORLD, collected.data() + at, source.data() + off,
                                   bytes, stream);
      shmemx_alltoallmem_on_stream(SHMEM_TEAM_WORLD, swapped.data() + at, source.data() + off,
                                   bytes, stream);
      at += (n * bytes + 15) / 16 * 16;
    }
    stream.finish();
    const std::vector<unsigned char> got = collected.read(), exchanged = swapped.read();
    at = off;
    for (const size_t bytes : sizes) {
      SCOPED_TRACE(testing::Message() << bytes << " bytes");
      expect_each("fcollect", got.data() + at, n * bytes,
                  [&](size_t i) { return term(i / bytes, i % bytes); });
      expect_each("alltoall", exchanged.data() + at, n * bytes,
                  [&](size_t i) { return term(i / bytes, me * bytes + i % bytes); });
      at += (n * bytes + 15) / 16 * 16;
    }
    shmem_barrier_all();
  }
}

TEST(LargeBlocksOnStream, AreExchangedByGraphs) {
  const size_t bytes = large_block() - 3;
  Stream stream;
  const auto n = static_cast<size_t>(n_pes()), me = static_cast<size_t>(my_pe());
  PlacedArray<unsigned char> source(Place::device, n * bytes), swapped(Place::device, n * bytes),
      collected(Place::device, n * bytes), sent(Place::device, bytes);
  hipGraph_t graph = nullptr;
  hipGraphExec_t replay = nullptr;
  expect_success(hipStreamBeginCapture(stream.hip(), hipStreamCaptureModeThreadLocal));
  shmemx_alltoallmem_on_stream(SHMEM_TEAM_WORLD, swapped, source, bytes, stream);
  shmemx_fcollectmem_on_stream(SHMEM_TEAM_WORLD, collected, source, bytes, stream);
  shmemx_broadcastmem_on_stream(SHMEM_TEAM_WORLD, sent, source, bytes, n_pes() - 1, stream);
  expect_success(hipStreamEndCapture(stream.hip(), &graph));
  expect_success(hipGraphInstantiate(&replay, graph, nullptr, nullptr, 0));
  std::vector<unsigned char> mine(n * bytes);
  for (size_t round = 1; round <= 3; ++round) {
    SCOPED_TRACE(round);
    const auto term = [round](size_t pe, size_t i) { return byte_of(pe + 100 * round, i); };
    for (size_t i = 0; i < n * bytes; ++i) mine[i] = term(me, i);
    source.write(mine);
    shmem_barrier_all();
    expect_success(hipGraphLaunch(replay, stream.hip()));
    stream.finish();
    expect_each("alltoall", swapped.read().data(), n * bytes,
                [&](size_t i) { return term(i / bytes, me * bytes + i % bytes); });
    expect_each("fcollect", collected.read().data(), n * bytes,
                [&](size_t i) { return term(i / bytes, i % bytes); });
    expect_each("broadcast", sent.read().data(), bytes, [&](size_t i) { return term(n - 1, i); });
    shmem_barrier_all();
  }
  expect_success(hipGraphExecDestroy(replay));
  expect_success(hipGraphDestroy(graph));
}

// Two teams' exchanges on two streams, which no two neighbours put there in the same order.
TEST(LargeBlocksOnStream, OfTwoTeamsDoNotWaitForEachOther) {
  constexpr int kRounds = 4;
  const size_t bytes = large_block();
  Stream streams[2];
  const auto n = static_cast<size_t>(n_pes()), me = static_cast<size_t>(my_pe());
  shmem_team_t other = SHMEM_TEAM_INVALID;
  ASSERT_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n_pes(), nullptr, 0, &other), 0);
  const shmem_team_t teams[2] = {SHMEM_TEAM_WORLD, other};
  PlacedArray<unsigned char> source(Place::device, bytes), first(Place::device, n * bytes),
      second(Place::device, n * bytes);
  std::vector<unsigned char> mine(bytes);
  for (size_t i = 0; i < bytes; ++i) mine[i] = byte_of(me, i);
  source.write(mine);
  shmem_barrier_all();
  for (int i = 0; i < 2 * kRounds; ++i) {
    const size_t which = (static_cast<size_t>(i) + me) % 2;
    PlacedArray<unsigned char>& dest = which == 0 ? first : second;
    EXPECT_EQ(shmemx_fcollectmem_on_stream(teams[which], dest, source, bytes, streams[which]), 0);
  }
  for (Stream& stream : streams) stream.finish();
  for (PlacedArray<unsigned char>* const dest : {&first, &second})
    expect_each("fcollect", dest->read().data(), n * bytes,
                [&](size_t i) { return byte_of(i / bytes, i % bytes); });
  shmem_team_destroy(other);
}

}  // namespace
}  // namespace meshmem
