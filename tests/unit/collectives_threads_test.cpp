// SPDX-License-Identifier: Apache-2.0
//
// Each host collective that computes, and barriers, with PEs that are threads over plain memory:
// every algorithm of the reductions over element sizes, counts and numbers of PEs.
// collectives_moves_test.cpp has those that move data, and collectives_mixed_test.cpp has several
// one after another and between each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "collectives/combine.hpp"
#include "collectives/data_movement.hpp"
#include "collectives/policy/reduce_policy.hpp"
#include "collectives/reduction.hpp"
#include "collectives/sync.hpp"
#include "pe_threads.hpp"

namespace meshmem {
namespace {

using Pe = PeThreads::Pe;

// How the API names a type whose values the tests compute with.
template <typename T>
struct Reduced {
  using type = T;
};
template <>
struct Reduced<std::complex<double>> {
  using type = meshmem_complexd;
};
template <typename T>
Reduction sum_of() {
  return reduction<Sum, typename Reduced<T>::type>();
}

// Small whole numbers, so that sums are exact in every type and order.
template <typename T>
T whole(std::uint64_t pe, std::uint64_t i, std::uint64_t salt) {
  return static_cast<T>(static_cast<double>(mixed(pe, i, salt) % 12));
}
template <>
std::uint8_t whole(std::uint64_t pe, std::uint64_t i, std::uint64_t salt) {
  return static_cast<std::uint8_t>(mixed(pe, i, salt));
}

template <typename T>
T whole_sum(int pes, std::uint64_t i, std::uint64_t salt) {
  T sum{};
  for (int pe = 0; pe < pes; ++pe)
    sum = static_cast<T>(sum + whole<T>(static_cast<std::uint64_t>(pe), i, salt));
  return sum;
}

template <typename T>
void fill(T* source, int pe, std::size_t count, std::uint64_t salt) {
  for (std::size_t i = 0; i < count; ++i)
    source[i] = whole<T>(static_cast<std::uint64_t>(pe), i, salt);
}

struct NamedReduce {
  const char* name;
  void (*run)(NodeTeam&, const Reduction&, void*, const void*, std::size_t);
  int least_pes;  // reduce() copies where there is one PE
};
#define ROW_true(name) {#name, reduce_##name, 2},
#define ROW_false(name)
#define MESHMEM_ALGORITHM(name, host, ...) ROW_##host(name)
const NamedReduce kReductions[] = {
    {"reduce", reduce, 1},
#include "device/collectives/algorithms.def"
};
#undef MESHMEM_ALGORITHM
#undef ROW_false
#undef ROW_true

// Buffers of a PE's heap: the source, and a dest with an element after it that nobody may write.
constexpr std::size_t kHalf = 200 * 1024;

template <typename T>
std::vector<T> sums(int pes, std::size_t count) {
  std::vector<T> result;
  for (std::size_t i = 0; i < count; ++i) result.push_back(whole_sum<T>(pes, i, count));
  return result;
}

template <typename T>
void expect_sums(const Pe& pe, NodeTeam& team, const NamedReduce& reduction,
                 const std::vector<T>& expected, bool in_place) {
  const std::size_t count = expected.size();
  T* source = reinterpret_cast<T*>(pe.heap);
  T* dest = in_place ? source : reinterpret_cast<T*>(pe.heap + kHalf);
  std::fill_n(dest, count + 1, T(99));
  fill(source, pe.number, count, count);
  reduction.run(team, sum_of<T>(), dest, source, count);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), dest))
      << reduction.name << " of " << count << " x " << sizeof(T) << " bytes, PE " << pe.number
      << " of " << team.n << (in_place ? ", in place" : "");
  EXPECT_EQ(dest[count], T(99)) << reduction.name << " wrote past the end";
}

template <typename T>
void expect_all_sums(const Pe& pe, NodeTeam& team) {
  std::vector<std::size_t> counts{0, 1, 2, 3, 7, 16, 17, 61, 127, 199};
  // More than a stage holds; once more than two of them.
  counts.push_back((sizeof(T) == 8 ? 2 : 1) * kStageBytes / sizeof(T) + 3);
  for (const std::size_t count : counts) {
    const std::vector<T> expected = sums<T>(team.n, count);
    for (const NamedReduce& reduction : kReductions) {
      if (team.n < reduction.least_pes) continue;
      for (const bool in_place : {false, true})
        expect_sums(pe, team, reduction, expected, in_place);
    }
  }
}

class Collectives : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Pes, Collectives, testing::Values(1, 2, 3, 4, 5, 7, 8),
                         [](const auto& info) { return std::to_string(info.param); });

TEST_P(Collectives, ReduceEveryElementSizeByEveryAlgorithm) {
  PeThreads job(GetParam(), 2 * kHalf);
  job.run([](Pe& pe) {
    NodeTeam team = pe.world();
    expect_all_sums<std::uint8_t>(pe, team);
    expect_all_sums<float>(pe, team);
    expect_all_sums<double>(pe, team);
    expect_all_sums<long double>(pe, team);
    expect_all_sums<std::complex<double>>(pe, team);
  });
}

TEST_P(Collectives, ReduceScatterGivesEachPeTheSumsOfItsBlocks) {
  PeThreads job(GetParam(), 2 * kHalf);
  job.run([](Pe& pe) {
    NodeTeam team = pe.world();
    for (const std::size_t count : {0, 1, 7, 3001}) {  // the last in several slices
      const std::size_t total = count * static_cast<std::size_t>(team.n);
      const std::size_t begin = count * static_cast<std::size_t>(team.me);
      const std::vector<double> all = sums<double>(team.n, total);
      auto* source = reinterpret_cast<double*>(pe.heap);
      for (double* dest : {reinterpret_cast<double*>(pe.heap + kHalf), source + begin}) {
        fill(source, pe.number, total, total);
        reduce_scatter(team, sum_of<double>(), dest, source, count);
        EXPECT_TRUE(std::equal(dest, dest + count, all.data() + begin))
            << count << ", PE " << pe.number << " of " << team.n;
      }
    }
  });
}

TEST_P(Collectives, ReduceByTheAlgorithmThatIsForced) {
  PeThreads job(GetParam(), 2 * kHalf);
  std::vector<ReduceRule> rules{ReduceRule::automatic};
  for (int i = 0; i < device::kReduceAlgorithmCount; ++i)
    rules.emplace_back(static_cast<ReduceAlgorithm>(i));
  for (const ReduceRule& rule : rules) {
    reduce_policy.settings.rule = rule;
    job.age_areas(0);
    job.run([](Pe& pe) {
      NodeTeam team = pe.world();
      for (const std::size_t count : {0, 1, 5, 130, 3001})
        expect_sums(pe, team, kReductions[0], sums<double>(team.n, count), count % 2);
    });
  }
  reduce_policy.settings = {};
}

// Numbers of very different size: any other order of additions gives other bits.
double rough(int pe, std::size_t i) {
  const std::uint64_t bits = mixed(static_cast<std::uint64_t>(pe), i, 5);
  const double magnitude = static_cast<double>(std::uint64_t{1} << bits % 40);
  return (static_cast<double>(bits >> 11) / 9007199254740992.0 - 0.5) * magnitude;
}

TEST_P(Collectives, ReductionsGiveTheSameBitsOnAllPesAndEveryTime) {
  constexpr std::size_t kCount = 9001;
  const int n = GetParam();
  for (const NamedReduce& reduction : kReductions) {
    if (n < reduction.least_pes) continue;
    SCOPED_TRACE(reduction.name);
    std::vector<std::byte> first;
    for (int repetition = 0; repetition < 3; ++repetition) {
      PeThreads job(n, 2 * kHalf);
      job.run([&](Pe& pe) {
        NodeTeam team = pe.world();
        auto* source = reinterpret_cast<double*>(pe.heap);
        for (std::size_t i = 0; i < kCount; ++i) source[i] = rough(pe.number, i);
        reduction.run(team, sum_of<double>(), pe.heap + kHalf, source, kCount);
      });
      for (int pe = 0; pe < n; ++pe) {
        const std::byte* result = job.heap(pe) + kHalf;
        if (first.empty()) first.assign(result, result + kCount * sizeof(double));
        EXPECT_EQ(std::memcmp(first.data(), result, first.size()), 0) << "PE " << pe;
      }
    }
  }
}

TEST_P(Collectives, OneShotAndTwoShotAddInPeOrder) {
  constexpr std::size_t kCount = 9001;
  const int n = GetParam();
  if (n == 1) return;
  std::vector<double> expected;
  for (std::size_t i = 0; i < kCount; ++i) {
    expected.push_back(rough(0, i));
    for (int pe = 1; pe < n; ++pe) expected.back() += rough(pe, i);
  }
  PeThreads job(n, 2 * kHalf);
  job.run([&](Pe& pe) {
    NodeTeam team = pe.world();
    for (const bool in_place : {false, true}) {
      for (const auto run : {reduce_one_shot, reduce_two_shot}) {
        auto* source = reinterpret_cast<double*>(pe.heap);
        auto* dest = in_place ? source : reinterpret_cast<double*>(pe.heap + kHalf);
        for (std::size_t i = 0; i < kCount; ++i) source[i] = rough(pe.number, i);
        run(team, sum_of<double>(), dest, source, kCount);
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), dest));
      }
    }
  });
}

// Every PE writes a plain word, meets the others, reads theirs, and meets them again.
void expect_meeting(PeThreads& job, void (*meet)(NodeTeam&), int rounds) {
  job.run([&](Pe& pe) {
    NodeTeam team = pe.world();
    int too_early = 0;
    for (int round = 1; round <= rounds; ++round) {
      *reinterpret_cast<int*>(pe.heap) = round;
      if (static_cast<int>(mixed(3, static_cast<std::uint64_t>(round)) % 64) == pe.number)
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      meet(team);
      for (int other = 0; other < team.n; ++other)
        too_early += *reinterpret_cast<int*>(pe.map.heap.copy_of_pe[other]) != round;
      meet(team);
    }
    EXPECT_EQ(too_early, 0);
  });
}

class Syncs : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Pes, Syncs, testing::Values(1, 2, 3, 4, 5, 7, 8, 17),
                         [](const auto& info) { return std::to_string(info.param); });

TEST_P(Syncs, NobodyLeavesBeforeAllHaveEntered) {
  for (const auto meet : {&sync, &sync_flat, &sync_dissemination, &sync_counting}) {
    PeThreads job(GetParam(), 4096);
    expect_meeting(job, meet, 100);
  }
}

template <typename T>
void expect_scan(const Pe& pe, NodeTeam& team, std::size_t count, bool inclusive, bool in_place) {
  T* source = reinterpret_cast<T*>(pe.heap);
  T* dest = in_place ? source : reinterpret_cast<T*>(pe.heap + kHalf);
  fill(source, pe.number, count, 4);
  dest[count] = T(99);
  scan(team, sum_of<T>(), dest, source, count, inclusive);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i)
    wrong += dest[i] != whole_sum<T>(team.me + (inclusive ? 1 : 0), i, 4);
  EXPECT_EQ(wrong, 0u) << count << (inclusive ? " inclusive" : " exclusive");
  EXPECT_EQ(dest[count], T(99));
}

TEST_P(Collectives, ScansAddTheSourcesOfThePesBefore) {
  PeThreads job(GetParam(), 2 * kHalf);
  job.run([](Pe& pe) {
    NodeTeam team = pe.world();
    for (const std::size_t count : {0, 1, 7, 8, 130, 4096, 4097, 8193}) {
      for (const bool inclusive : {false, true}) {
        for (const bool in_place : {false, true}) {
          expect_scan<float>(pe, team, count, inclusive, in_place);
          expect_scan<long double>(pe, team, count, inclusive, in_place);
        }
      }
    }
  });
}

}  // namespace
}  // namespace meshmem
