// SPDX-License-Identifier: Apache-2.0
//
// Teams and contexts in great numbers, and splits that fail: side by side until there are no more,
// one after another without end, and with PEs that do not agree.
// Invariant: a split ends alike on all PEs of the parent, whatever a single PE lacks or asks for,
// and gives back all that it has taken by then. MESHMEM_TEST_LONG makes a million splits.
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <vector>

#include "long_form.hpp"
#include "symmetric_array.hpp"

namespace meshmem {
namespace {

constexpr size_t kMany = 1024;

int split(shmem_team_t parent, int start, int stride, int size, shmem_team_t* team) {
  return shmem_team_split_strided(parent, start, stride, size, nullptr, 0, team);
}

// The team of this PE alone.
shmem_team_t make_alone() {
  shmem_team_t row = SHMEM_TEAM_INVALID, column = SHMEM_TEAM_INVALID;
  EXPECT_EQ(shmem_team_split_2d(SHMEM_TEAM_WORLD, 1, nullptr, 0, &row, nullptr, 0, &column), 0);
  shmem_team_destroy(column);
  return row;
}

void destroy_all(const std::vector<shmem_team_t>& teams) {
  for (shmem_team_t team : teams) shmem_team_destroy(team);
}

// A sum shows who the members are.
void expect_members(shmem_team_t team, int n) {
  static long sum, bit;
  bit = 1L << my_pe();
  if (team == SHMEM_TEAM_INVALID) return;
  EXPECT_EQ(shmem_team_n_pes(team), n);
  EXPECT_EQ(shmem_long_sum_reduce(team, &sum, &bit, 1), 0);
  EXPECT_EQ(__builtin_popcountl(static_cast<unsigned long>(sum)), n);
  EXPECT_NE(sum & bit, 0);
}

// Resident memory, private and shared, of this process.
long resident_bytes() {
  long total = 0, resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (!file) return 0;
  EXPECT_EQ(std::fscanf(file, "%ld %ld", &total, &resident), 2);
  std::fclose(file);
  return resident * sysconf(_SC_PAGESIZE);
}

// A sanitizer keeps what has been freed.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kFreedMemoryIsKept = true;
#else
constexpr bool kFreedMemoryIsKept = false;
#endif

// Calls step(i) many times. A leak takes memory in every quarter after the first. Memory that the
// library takes once, as for the text of a long wait, is taken in only one of them.
template <typename Step>
void expect_no_leak(int times, const Step& step) {
  const int quarter = times / 4;
  long least = LONG_MAX;
  for (int i = 0; i < quarter; ++i) step(i);
  for (int part = 1; part < 4; ++part) {
    const long before = resident_bytes();
    for (int i = 0; i < quarter; ++i) step(part * quarter + i);
    least = std::min(least, resident_bytes() - before);
  }
  if (!kFreedMemoryIsKept) {
    EXPECT_LT(least, 40 * 1024) << "by " << quarter << " rounds";
  }
}

TEST(ManyTeams, S23_AThousandLiveAtOnce) {
  const int n = n_pes();
  std::vector<shmem_team_t> teams;
  for (size_t i = 0; i < kMany; ++i) {  // of all PEs, forwards and backwards, and of a part
    shmem_team_t team = SHMEM_TEAM_INVALID;
    const int size = i % 3 == 2 ? (n + 1) / 2 : n;
    const int result = i % 3 == 1 ? split(SHMEM_TEAM_WORLD, n - 1, -1, size, &team)
                                  : split(SHMEM_TEAM_WORLD, 0, 1, size, &team);
    EXPECT_EQ(result, 0);
    EXPECT_EQ(team != SHMEM_TEAM_INVALID, i % 3 != 2 || my_pe() < size);
    teams.push_back(team);
  }
  for (size_t i = 0; i < kMany; i += i < 64 ? 1 : 63)
    expect_members(teams[i], i % 3 == 2 ? (n + 1) / 2 : n);
  for (size_t i = 0; i < kMany; i += 2) shmem_team_destroy(teams[i]);
  for (size_t i = 1; i < kMany; i += 126) expect_members(teams[i], i % 3 == 2 ? (n + 1) / 2 : n);
  for (size_t i = 1; i < kMany; i += 2) shmem_team_destroy(teams[i]);
}

// If one PE has no room for another team, a split fails on all PEs, and nothing else fails.
TEST(ManyTeams, S23_ASplitFailsOnAllPesIfOneHasNoRoom) {
  const shmem_team_t alone = make_alone();
  std::vector<shmem_team_t> teams;
  shmem_team_t team = SHMEM_TEAM_INVALID;
  const bool am_full = my_pe() == n_pes() / 2;
  while (am_full && split(alone, 0, 1, 1, &team) == 0) teams.push_back(team);
  if (am_full) {
    EXPECT_GE(teams.size(), kMany);
    EXPECT_EQ(team, SHMEM_TEAM_INVALID);
  }
  for (int attempt = 0; attempt < 3; ++attempt) {
    team = SHMEM_TEAM_WORLD;
    EXPECT_NE(split(SHMEM_TEAM_WORLD, 0, 1, n_pes(), &team), 0);
    EXPECT_EQ(team, SHMEM_TEAM_INVALID);
    expect_members(SHMEM_TEAM_WORLD, n_pes());
  }
  // Room for one of the two teams of a split in two dimensions.
  if (am_full) {
    shmem_team_destroy(teams.back());
    teams.pop_back();
  }
  for (int attempt = 0; attempt < 3; ++attempt) {
    shmem_team_t x = SHMEM_TEAM_WORLD, y = SHMEM_TEAM_WORLD;
    EXPECT_NE(shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, nullptr, 0, &x, nullptr, 0, &y), 0);
    EXPECT_EQ(x, SHMEM_TEAM_INVALID);
    EXPECT_EQ(y, SHMEM_TEAM_INVALID);
  }
  EXPECT_EQ(split(SHMEM_TEAM_WORLD, n_pes() - 1, -1, n_pes(), &team), 0) << "the room was lost";
  expect_members(team, n_pes());
  shmem_team_destroy(team);
  destroy_all(teams);
  EXPECT_EQ(split(SHMEM_TEAM_WORLD, 0, 1, n_pes(), &team), 0);
  expect_members(team, n_pes());
  shmem_team_destroy(team);
  shmem_team_destroy(alone);
}

// The standard wants the same arguments everywhere. If one PE has others, the split fails on all.
TEST(ManyTeams, S23_ASplitFailsOnAllPesIfOneAsksForNonsense) {
  for (int odd_one = 0; odd_one < n_pes(); ++odd_one) {
    const bool am_odd = my_pe() == odd_one;
    shmem_team_t x = SHMEM_TEAM_WORLD, y = SHMEM_TEAM_WORLD;
    EXPECT_NE(split(SHMEM_TEAM_WORLD, 0, am_odd ? n_pes() : 1, am_odd ? 2 : 1, &x), 0);
    EXPECT_EQ(x, SHMEM_TEAM_INVALID);
    const int xrange = am_odd ? 0 : 1;
    EXPECT_NE(shmem_team_split_2d(SHMEM_TEAM_WORLD, xrange, nullptr, 0, &x, nullptr, 0, &y), 0);
    EXPECT_EQ(x, SHMEM_TEAM_INVALID);
    EXPECT_EQ(y, SHMEM_TEAM_INVALID);
  }
  expect_members(SHMEM_TEAM_WORLD, n_pes());
}

// All triplets around the edges of a team that is itself reversed and strided; the arithmetic must
// not overflow either.
TEST(ManyTeams, S23_NoTripletLeavesItsParent) {
  shmem_team_t parent = SHMEM_TEAM_INVALID;
  const int n = (n_pes() + 1) / 2, last = 2 * (n - 1);
  EXPECT_EQ(split(SHMEM_TEAM_WORLD, last, -2, n, &parent), 0);
  if (parent != SHMEM_TEAM_INVALID) {
    constexpr int kMost = 2147483647;
    const int strides[] = {-kMost - 1, -kMost, -n, -1, 0, 1, n, kMost};
    for (int start : {-kMost - 1, -1, 0, n - 1, n, kMost}) {
      for (int stride : strides) {
        for (int size : {-kMost - 1, -1, 0, 1, n, n + 1, kMost}) {
          const long end = start + static_cast<long>(size - 1L) * stride;
          const bool valid = start >= 0 && start < n && size >= 1 && size <= n && end >= 0 &&
                             end < n && (stride != 0 || size == 1);
          shmem_team_t team = SHMEM_TEAM_WORLD;
          EXPECT_EQ(split(parent, start, stride, size, &team) == 0, valid)
              << start << ", " << stride << ", " << size;
          if (!valid) {
            EXPECT_EQ(team, SHMEM_TEAM_INVALID);
          }
          if (valid) expect_members(team, size);
          shmem_team_destroy(team);
        }
      }
    }
  }
  shmem_team_destroy(parent);
}

// The two teams of a split have the configurations that were asked for.
TEST(ManyTeams, S26_AxesHaveTheirOwnConfigurations) {
  const shmem_team_config_t x_wish = {2}, y_wish = {5};
  shmem_team_t x = SHMEM_TEAM_INVALID, y = SHMEM_TEAM_INVALID;
  EXPECT_EQ(shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, &x_wish, SHMEM_TEAM_NUM_CONTEXTS, &x, &y_wish,
                                SHMEM_TEAM_NUM_CONTEXTS, &y),
            0);
  shmem_team_config_t config = {-1};
  EXPECT_EQ(shmem_team_get_config(x, SHMEM_TEAM_NUM_CONTEXTS, &config), 0);
  EXPECT_EQ(config.num_contexts, 2);
  EXPECT_EQ(shmem_team_get_config(y, SHMEM_TEAM_NUM_CONTEXTS, &config), 0);
  EXPECT_EQ(config.num_contexts, 5);
  shmem_team_destroy(y);
  shmem_team_destroy(x);
  EXPECT_EQ(shmem_team_split_2d(SHMEM_TEAM_WORLD, 1, &x_wish, 0, &x, nullptr, 0, &y), 0);
  EXPECT_EQ(shmem_team_get_config(x, SHMEM_TEAM_NUM_CONTEXTS, &config), 0);
  EXPECT_EQ(config.num_contexts, 0) << "the mask left the field out";
  shmem_team_destroy(y);
  shmem_team_destroy(x);
}

// Teams of all PEs, of some, of two axes, made and destroyed for ever.
TEST(ManyTeams, S27_SplitsAndDestroysLeaveNothingBehind) {
  const int n = n_pes();
  expect_no_leak(short_or_long(1200, 1000000), [n](int i) {
    shmem_team_t x = SHMEM_TEAM_INVALID, y = SHMEM_TEAM_INVALID;
    shmem_ctx_t ctx;
    if (i % 4 == 0) {
      EXPECT_EQ(shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, nullptr, 0, &x, nullptr, 0, &y), 0);
      EXPECT_EQ(shmem_team_create_ctx(y, 0, &ctx), 0);  // left to the team
    } else {
      EXPECT_EQ(split(SHMEM_TEAM_WORLD, i % n, i % n == 0 ? 1 : -1, i % n == 0 ? n : i % n + 1, &x),
                0);
    }
    shmem_team_destroy(x);
    shmem_team_destroy(y);
  });
  expect_members(SHMEM_TEAM_WORLD, n);
}

TEST(ManyContexts, S30_AThousandLiveAtOnce) {
  SymmetricArray<long> words(kMany);
  std::fill(words.data(), words.data() + kMany, 0);
  shmem_team_t reversed = SHMEM_TEAM_INVALID;
  EXPECT_EQ(split(SHMEM_TEAM_WORLD, n_pes() - 1, -1, n_pes(), &reversed), 0);
  shmem_barrier_all();
  std::vector<shmem_ctx_t> contexts;
  for (size_t i = 0; i < kMany; ++i) {
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    EXPECT_EQ(i % 2 ? shmem_team_create_ctx(reversed, 0, &ctx) : shmem_ctx_create(0, &ctx), 0);
    ASSERT_NE(ctx, SHMEM_CTX_INVALID);
    contexts.push_back(ctx);
  }
  for (size_t i = 0; i < kMany; ++i) {
    const int next = i % 2 ? n_pes() - 1 - next_pe() : next_pe();
    shmem_ctx_long_p(contexts[i], &words[i], 1 + static_cast<long>(i), next);
    shmem_team_t team = SHMEM_TEAM_INVALID;
    EXPECT_EQ(shmem_ctx_get_team(contexts[i], &team), 0);
    EXPECT_EQ(team, i % 2 ? reversed : SHMEM_TEAM_WORLD);
  }
  std::sort(contexts.begin(), contexts.end());
  EXPECT_EQ(std::adjacent_find(contexts.begin(), contexts.end()), contexts.end());
  for (shmem_ctx_t ctx : contexts) shmem_ctx_destroy(ctx);
  shmem_barrier_all();
  expect_each("words", words.data(), kMany, [](size_t i) { return 1 + static_cast<long>(i); });
  shmem_team_destroy(reversed);
}

TEST(ManyContexts, S31_CreationAndDestructionLeaveNothingBehind) {
  expect_no_leak(short_or_long(20000, 1000000), [](int) {
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    EXPECT_EQ(shmem_team_create_ctx(SHMEM_TEAM_SHARED, SHMEM_CTX_PRIVATE, &ctx), 0);
    shmem_ctx_destroy(ctx);
  });
}

}  // namespace
}  // namespace meshmem
