// SPDX-License-Identifier: Apache-2.0
//
// Collectives of several teams on as many streams, in orders that the PEs do not share.
// Invariant: a PE's kernels that wait for another PE leave room for the kernels of one other
// stream.
#include <algorithm>
#include <memory>
#include <string_view>

#include "stream.hpp"

namespace meshmem {
namespace {

struct Kind {
  const char* name;
  int (*call)(shmem_team_t, int* dest, const int* source, size_t count, shmemx_stream_t);
  bool is_of_all;  // its dest or source has a block for each PE
};
const Kind kinds[] = {
    {"sum", shmemx_int_sum_reduce_on_stream, false},
    {"reduce-scatter", shmemx_int_sum_reduce_scatter_on_stream, true},
    {"fcollect", shmemx_int_fcollect_on_stream, true},
    {"alltoall", shmemx_int_alltoall_on_stream, true},
    {"broadcast",
     [](shmem_team_t team, int* dest, const int* source, size_t count, shmemx_stream_t stream) {
       return shmemx_int_broadcast_on_stream(team, dest, source, count, n_pes() - 1, stream);
     },
     false},
};

int term(size_t pe, size_t i) { return static_cast<int>(scramble(pe << 40 | i) >> 40); }

// Element i of what PE `me` gets, where each PE has term(pe, i) in its source.
int expected(const Kind& kind, size_t me, size_t n, size_t count, size_t i) {
  const std::string_view name = kind.name;
  if (name == "fcollect") return term(i / count, i % count);
  if (name == "alltoall") return term(i / count, me * count + i % count);
  if (name == "broadcast") return term(n - 1, i);
  int sum = 0;
  for (size_t pe = 0; pe < n; ++pe) sum += term(pe, name == "sum" ? i : me * count + i);
  return sum;
}

void run_in_all_orders(const Kind& kind, const std::vector<shmem_team_t>& teams, size_t bytes) {
  constexpr size_t kRounds = 6;
  const size_t count = bytes / sizeof(int);
  const auto n = static_cast<size_t>(n_pes()), me = static_cast<size_t>(my_pe());
  const size_t all = kind.is_of_all ? n * count : count;
  PlacedArray<int> source(Place::device, all);
  std::vector<std::unique_ptr<PlacedArray<int>>> dests;
  std::vector<std::unique_ptr<Stream>> streams;
  for (size_t k = 0; k < teams.size(); ++k) {
    dests.push_back(std::make_unique<PlacedArray<int>>(Place::device, all));
    streams.push_back(std::make_unique<Stream>());
  }
  std::vector<int> mine(all);
  for (size_t i = 0; i < all; ++i) mine[i] = term(me, i);
  source.write(mine);
  shmem_barrier_all();
  for (size_t i = 0; i < kRounds * teams.size(); ++i) {
    const size_t which = (i + me) % teams.size();
    EXPECT_EQ(kind.call(teams[which], dests[which]->data(), source, count, *streams[which]), 0);
  }
  for (const auto& stream : streams) stream->finish();
  const bool scatters = std::string_view(kind.name) == "reduce-scatter";
  for (const auto& dest : dests)
    expect_each(kind.name, dest->read().data(), scatters ? count : all,
                [&](size_t i) { return expected(kind, me, n, count, i); });
  shmem_barrier_all();
}

class TeamsOnStreams : public testing::TestWithParam<size_t> {};

TEST_P(TeamsOnStreams, DoNotWaitForEachOther) {
  if (GetParam() > 2 && is_on_gpu()) GTEST_SKIP() << "a GPU need not have room for their kernels";
  std::vector<size_t> sizes{8, 4096, 100 << 10};
  if (is_on_gpu() && !is_on_emulated_gpu())
    sizes.insert(sizes.end(), {256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20, 6 << 20, 20 << 20});
  std::vector<shmem_team_t> teams{SHMEM_TEAM_WORLD};
  while (teams.size() < GetParam()) {
    shmem_team_t other = SHMEM_TEAM_INVALID;
    ASSERT_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n_pes(), nullptr, 0, &other), 0);
    teams.push_back(other);
  }
  for (const size_t bytes : sizes) {
    for (const Kind& kind : kinds) {
      SCOPED_TRACE(testing::Message() << kind.name << " of " << bytes << " bytes");
      run_in_all_orders(kind, teams, bytes);
    }
  }
  for (size_t k = 1; k < teams.size(); ++k) shmem_team_destroy(teams[k]);
}
INSTANTIATE_TEST_SUITE_P(Numbers, TeamsOnStreams, testing::Values(2, 3));

}  // namespace
}  // namespace meshmem
