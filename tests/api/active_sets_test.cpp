// SPDX-License-Identifier: Apache-2.0
//
// The deprecated collectives of active sets: every routine and type, on sets of every stride that
// there is room for.
// Invariant: all PEs go through the same sets in the same order, and only members make the calls;
// nothing but the calls themselves keeps PEs together within a test.
#include <algorithm>
#include <random>
#include <thread>
#include <vector>

#include "deprecated_routines.hpp"
#include "reduction_model.hpp"
#include "symmetric_array.hpp"
#include "team_views.hpp"

namespace meshmem {
namespace {

long psync[SHMEM_SYNC_SIZE + 1];  // the last is not part of it
constexpr long kBeyond = 0x5ca1ab1e;

// An active set as the calling PE sees it: the view has no team.
struct SetView {
  int start, log_stride, size;
  TeamView view;

  bool has_me() const { return view.me >= 0; }
};

SetView make_set(int start, int log_stride, int size) {
  SetView set{start, log_stride, size, {SHMEM_TEAM_INVALID, -1, {}}};
  for (int i = 0; i < size; ++i) {
    set.view.pes.push_back(start + (i << log_stride));
    if (set.view.pes.back() == my_pe()) set.view.me = i;
  }
  return set;
}

// Every set that there is room for: of one PE, and of any stride.
std::vector<SetView> every_set() {
  std::vector<SetView> sets;
  for (int log_stride = 0; 1 << log_stride <= n_pes(); ++log_stride) {
    for (int start = 0; start < n_pes(); ++start) {
      for (int size = log_stride == 0 ? 1 : 2; start + ((size - 1) << log_stride) < n_pes(); ++size)
        sets.push_back(make_set(start, log_stride, size));
    }
  }
  return sets;
}

// The world, strides of 1, 2 and 4 from both ends, and the last PE alone.
std::vector<SetView> some_sets() {
  const int n = n_pes();
  return {make_set(0, 0, n),
          make_set(0, 1, (n + 1) / 2),
          make_set((n - 1) % 4, 2, (n - 1) / 4 + 1),
          make_set(n / 2, 0, n - n / 2),
          make_set((n - 1) % 2, 1, (n - 1) / 2 + 1),
          make_set(n - 1, 0, 1)};
}

void init_psync() {
  std::fill(std::begin(psync), std::end(psync), SHMEM_SYNC_VALUE);
  psync[SHMEM_SYNC_SIZE] = kBeyond;
  shmem_barrier_all();
}
void expect_psync_restored() {
  expect_all("pSync", psync, SHMEM_SYNC_SIZE, SHMEM_SYNC_VALUE);
  EXPECT_EQ(psync[SHMEM_SYNC_SIZE], kBeyond);
}

// Calls check(set) on the members of each set, one set right after the other.
template <typename Check>
void on_members(const std::vector<SetView>& sets, const Check& check) {
  init_psync();
  for (const SetView& set : sets) {
    if (!set.has_me()) continue;
    SCOPED_TRACE(testing::Message() << "PE_start " << set.start << ", logPE_stride "
                                    << set.log_stride << ", PE_size " << set.size);
    check(set);
    expect_psync_restored();
  }
  shmem_barrier_all();
}

void sync_set(const SetView& set) { shmem_sync(set.start, set.log_stride, set.size, psync); }

// Threads first: their sets are new then, and are made while others are in use.
TEST(ActiveSets, ServeThreadsThatEachUseASetOfTheirOwn) {
  constexpr long kRounds = 60;
  static long sources[3], sums[3], work[3][1], syncs[3][SHMEM_SYNC_SIZE];
  const int n = n_pes();
  const SetView sets[] = {make_set(0, 0, n), make_set(0, 1, (n + 1) / 2),
                          make_set(n / 2, 0, n - n / 2)};
  shmem_barrier_all();
  std::vector<std::thread> threads;
  for (size_t t = 0; t < std::size(sets); ++t) {
    if (!sets[t].has_me()) continue;
    threads.emplace_back([&set = sets[t], t] {
      long wrong = 0;
      for (long round = 0; round < kRounds; ++round) {
        long expected = 0;
        for (const int pe : set.view.pes) expected += pe * 1000 + round;
        sources[t] = my_pe() * 1000 + round;
        shmem_long_sum_to_all(&sums[t], &sources[t], 1, set.start, set.log_stride, set.size,
                              work[t], syncs[t]);
        wrong += sums[t] != expected;
      }
      EXPECT_EQ(wrong, 0) << "thread " << t;
    });
  }
  // The world is another team than the set of all PEs.
  for (long round = 0; round < kRounds; ++round) shmem_sync_all();
  for (std::thread& thread : threads) thread.join();
  shmem_barrier_all();
}

// All PEs go through the steps in the same order, but not through all of them. After a meeting no
// member is in an earlier step.
template <typename Meet>
void meet_in_steps(const Meet& meet) {
  constexpr long kRounds = 4;
  static long entered;
  entered = 0;
  int too_early = 0;
  const std::vector<SetView> sets = every_set();
  on_members(sets, [&](const SetView& set) {
    const long first = 1 + (&set - sets.data()) * kRounds;
    for (long step = first; step < first + kRounds; ++step) {
      __atomic_store_n(&entered, step, __ATOMIC_RELAXED);
      meet(set);
      for (const int pe : set.view.pes) too_early += shmem_long_atomic_fetch(&entered, pe) < step;
    }
  });
  EXPECT_EQ(too_early, 0) << "someone left before all had come";
}

TEST(SetSync, S59_NobodyLeavesBeforeAllHaveCome) {
  meet_in_steps([](const SetView& set) { sync_set(set); });
}

TEST(SetBarrier, S59_NobodyLeavesBeforeAllHaveCome) {
  meet_in_steps(
      [](const SetView& set) { shmem_barrier(set.start, set.log_stride, set.size, psync); });
}

TEST(SetBarrier, CompletesPutsToTheMembers) {
  SymmetricArray<long> from(static_cast<size_t>(n_pes()));
  on_members(every_set(), [&](const SetView& set) {
    const long value = set.start * 10000 + set.log_stride * 1000 + set.size * 100 + my_pe();
    for (const int pe : set.view.pes)
      shmem_long_put_nbi(&from[static_cast<size_t>(my_pe())], &value, 1, pe);
    shmem_barrier(set.start, set.log_stride, set.size, psync);
    for (const int pe : set.view.pes)
      EXPECT_EQ(from[static_cast<size_t>(pe)], value - my_pe() + pe);
    sync_set(set);
  });
}

constexpr int kOld = 500;

// Calls check(row, set, dest, source) for both widths on some sets.
template <typename Check>
void on_both_widths(size_t elems, const Check& check) {
  for_each_set_collective([&](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    SymmetricArray<E> dest(elems), source(elems);
    on_members(some_sets(), [&](const SetView& set) {
      fill(dest.data(), elems, my_pe(), kOld);
      fill(source.data(), elems, my_pe());
      sync_set(set);
      check(row, set, dest.data(), source.data());
      sync_set(set);  // until then nobody changes its source
    });
  });
}

TEST(SetBroadcast, S54_ReachesEveryDestButTheRoots) {
  on_both_widths(5001, [](const auto& row, const SetView& set, auto* dest, auto* source) {
    for (const size_t n : {size_t{1}, size_t{9}, size_t{5000}}) {
      for (int root = 0; root < set.size; ++root) {
        fill(dest, n + 1, my_pe(), kOld);
        sync_set(set);
        row.set_broadcast(dest, source, n, root, set.start, set.log_stride, set.size, psync);
        if (root == set.view.me) {
          expect_filled("the root's dest", dest, n, my_pe(), kOld);
        } else {
          expect_filled("broadcast", dest, n, set.view.world(static_cast<size_t>(root)));
        }
        EXPECT_TRUE(
            same(dest[n], sample<std::decay_t<decltype(*dest)>>(seed_of(my_pe(), n, kOld))));
        sync_set(set);
      }
    }
  });
}

TEST(SetFcollect, S55_TakesTheBlocksInTheOrderOfTheSet) {
  on_both_widths(2500 * 8, [](const auto& row, const SetView& set, auto* dest, auto* source) {
    for (const size_t n : {size_t{3}, size_t{2500}}) {
      row.set_fcollect(dest, source, n, set.start, set.log_stride, set.size, psync);
      for (size_t pe = 0; pe < set.view.size(); ++pe)
        expect_filled("fcollect", dest + pe * n, n, set.view.world(pe));
      sync_set(set);
    }
  });
}

TEST(SetCollect, S55_TakesAsManyElementsAsEachPeSays) {
  on_both_widths(200, [](const auto& row, const SetView& set, auto* dest, auto* source) {
    const auto share = [](size_t pe) { return pe % 3 == 1 ? 0 : 5 + pe; };
    const auto me = static_cast<size_t>(set.view.me);
    row.set_collect(dest, source, share(me), set.start, set.log_stride, set.size, psync);
    size_t at = 0;
    for (size_t pe = 0; pe < set.view.size(); at += share(pe), ++pe)
      expect_filled("collect", dest + at, share(pe), set.view.world(pe));
  });
}

TEST(SetAlltoall, S55_SendsBlockKToPeK) {
  on_both_widths(300 * 8, [](const auto& row, const SetView& set, auto* dest, auto* source) {
    using E = std::decay_t<decltype(*dest)>;
    const auto me = static_cast<size_t>(set.view.me);
    for (const size_t n : {size_t{3}, size_t{300}}) {
      row.set_alltoall(dest, source, n, set.start, set.log_stride, set.size, psync);
      expect_each("alltoall", dest, n * set.view.size(), [&](size_t i) {
        return sample<E>(seed_of(set.view.world(i / n), me * n + i % n));
      });
      sync_set(set);
    }
  });
}

TEST(SetAlltoalls, S55_StridesCountElements) {
  on_both_widths(7 * 8 * 3, [](const auto& row, const SetView& set, auto* dest, auto* source) {
    using E = std::decay_t<decltype(*dest)>;
    constexpr size_t kElems = 7, kDst = 2, kSst = 3;
    const auto me = static_cast<size_t>(set.view.me);
    row.set_alltoalls(dest, source, kDst, kSst, kElems, set.start, set.log_stride, set.size, psync);
    expect_each("alltoalls", dest, kElems * set.view.size() * kDst, [&](size_t i) {
      if (i % kDst != 0) return sample<E>(seed_of(my_pe(), i, kOld));
      const size_t pe = i / kDst / kElems, element = i / kDst % kElems;
      return sample<E>(seed_of(set.view.world(pe), (me * kElems + element) * kSst));
    });
  });
}

// One operation of one type on some sets: fewer elements than PEs, more than a line holds, and in
// place.
template <typename E>
void check_reduction(Op op, void (*reduce)(E*, const E*, int, int, int, int, E*, long*)) {
  constexpr size_t kMost = 70;
  SymmetricArray<E> dest(kMost + 1), source(kMost + 1), work(kMost / 2 + 1);
  on_members(some_sets(), [&](const SetView& set) {
    const std::vector<E> expected = model<E>(op, set.view, set.view.size() - 1);
    for (const size_t n : {size_t{1}, kMost}) {
      for (E* result : {dest.data(), source.data()}) {
        fill(work.data(), work.size(), my_pe());
        contribute(op, source.data(), kMost);
        dest[n] = source[n] = sample<E>(n);
        sync_set(set);
        reduce(result, source, static_cast<int>(n), set.start, set.log_stride, set.size, work,
               psync);
        expect_model("reduction", result, n, expected);
        EXPECT_TRUE(same(result[n], sample<E>(n)));
        expect_filled("pWrk", work.data(), work.size(), my_pe());
        sync_set(set);
      }
    }
  });
}

TEST(SetReductions, S59_CombineOnEveryTypeThatHasBits) {
  for_each_set_logic([](const auto& row) {
    SCOPED_TRACE(row.type);
    check_reduction(Op::kAnd, row.and_to_all);
    check_reduction(Op::kOr, row.or_to_all);
    check_reduction(Op::kXor, row.xor_to_all);
  });
}
TEST(SetReductions, S59_FindTheExtremesOfEveryRealType) {
  for_each_set_order([](const auto& row) {
    SCOPED_TRACE(row.type);
    check_reduction(Op::kMax, row.max_to_all);
    check_reduction(Op::kMin, row.min_to_all);
  });
}
TEST(SetReductions, S59_AddAndMultiplyEveryType) {
  for_each_set_arith([](const auto& row) {
    SCOPED_TRACE(row.type);
    check_reduction(Op::kSum, row.sum_to_all);
    check_reduction(Op::kProd, row.prod_to_all);
  });
}

// Sets that share PEs, one after the other in any order, without a meeting between them.
TEST(ActiveSets, MayOverlapAndFollowEachOther) {
  std::vector<SetView> sets = every_set();
  SymmetricArray<long> dest(sets.size()), source(sets.size()), work(1);
  std::vector<size_t> order(sets.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::mt19937 random(7);
  init_psync();
  for (long round = 0; round < 5; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const size_t i : order) source[i] = static_cast<long>(i) * 1000 + round * 100 + my_pe();
    for (const size_t i : order) {
      if (!sets[i].has_me()) continue;
      shmem_long_max_to_all(&dest[i], &source[i], 1, sets[i].start, sets[i].log_stride,
                            sets[i].size, work, psync);
      EXPECT_EQ(dest[i], static_cast<long>(i) * 1000 + round * 100 + sets[i].view.pes.back());
    }
  }
  expect_psync_restored();
  shmem_barrier_all();
}

TEST(ActiveSets, S18_MoveNothingWhereNothingIsAsked) {
  long* none = nullptr;
  on_members(some_sets(), [&](const SetView& set) {
    shmem_broadcast64(none, none, 0, 0, set.start, set.log_stride, set.size, psync);
    shmem_collect32(none, none, 0, set.start, set.log_stride, set.size, psync);
    shmem_fcollect32(none, none, 0, set.start, set.log_stride, set.size, psync);
    shmem_alltoall64(none, none, 0, set.start, set.log_stride, set.size, psync);
    shmem_alltoalls32(none, none, 1, 1, 0, set.start, set.log_stride, set.size, psync);
    shmem_long_sum_to_all(none, none, 0, set.start, set.log_stride, set.size, none, psync);
  });
}

}  // namespace
}  // namespace meshmem
