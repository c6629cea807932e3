// SPDX-License-Identifier: Apache-2.0
//
// Host calls of collectives whose buffers are in device memory, in one or both places, for all
// types and for teams of some PEs in another order. Invariant: kernels and messages are two ways to
// the same result; long double and complex numbers take the second.
#include <cmath>
#include <complex>
#include <limits>

#include "placed_array.hpp"
#include "typed_routines.hpp"

namespace meshmem {
namespace {

// Fewer elements than PEs, an odd number, and more than a message holds for the wider types. Only
// one count where the test is about the places.
std::vector<size_t> counts(Place dest, Place source, size_t largest) {
  if (dest == Place::device && source == Place::device) return {1, 5, largest};
  return {5};
}

size_t total(size_t n) { return n * static_cast<size_t>(n_pes()); }

// Every PE of the world in reversed order.
shmem_team_t reversed_world() {
  shmem_team_t team = SHMEM_TEAM_INVALID;
  EXPECT_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, n_pes() - 1, -1, n_pes(), nullptr, 0, &team),
            0);
  return team;
}

template <typename Check>
void on_both_teams(const Check& check) {
  check(SHMEM_TEAM_WORLD);
  const shmem_team_t reversed = reversed_world();
  check(reversed);
  shmem_team_destroy(reversed);
}

int world_pe(shmem_team_t team, int pe) {
  return shmem_team_translate_pe(team, pe, SHMEM_TEAM_WORLD);
}

TEST(DeviceCollectives, MoveEveryTypeBetweenAnyPlaces) {
  on_both_teams([](shmem_team_t team) {
    on_all_places([&](Place to, Place from) {
      if (team != SHMEM_TEAM_WORLD && to != from) return;
      for_each_collective([&](auto row) {
        using E = typename decltype(row)::Element;
        if (is_left_out(row.type)) return;
        SCOPED_TRACE(row.type);
        const auto n_all = static_cast<size_t>(n_pes());
        const int me = shmem_team_my_pe(team);
        for (const size_t n : counts(to, from, 700)) {
          PlacedArray<E> dest(to, total(n)), source(from, total(n));
          source.write(samples<E>(total(n), my_pe(), 1));
          dest.write(samples<E>(total(n), my_pe(), 2));
          shmem_team_sync(team);
          const int root = n_pes() - 1;
          EXPECT_EQ(row.broadcast(team, dest.data(), source.data(), n, root), 0);
          expect_filled("broadcast", dest.read().data(), n, world_pe(team, root), 1);
          shmem_team_sync(team);

          EXPECT_EQ(row.fcollect(team, dest.data(), source.data(), n), 0);
          expect_each("fcollect", dest.read().data(), total(n), [&](size_t i) {
            return sample<E>(seed_of(world_pe(team, static_cast<int>(i / n)), i % n, 1));
          });
          shmem_team_sync(team);

          // As many elements as the PE's number, the first none.
          EXPECT_EQ(
              row.collect(team, dest.data(), source.data(), static_cast<size_t>(me) % (n + 1)), 0);
          const std::vector<E> collected = dest.read();
          size_t at = 0;
          for (size_t pe = 0; pe < n_all; ++pe) {
            expect_filled("collect", collected.data() + at, pe % (n + 1),
                          world_pe(team, static_cast<int>(pe)), 1);
            at += pe % (n + 1);
          }
          shmem_team_sync(team);

          EXPECT_EQ(row.alltoall(team, dest.data(), source.data(), n), 0);
          expect_each("alltoall", dest.read().data(), total(n), [&](size_t i) {
            return sample<E>(seed_of(world_pe(team, static_cast<int>(i / n)),
                                     static_cast<size_t>(me) * n + i % n, 1));
          });
          shmem_team_sync(team);
        }
      });
    });
  });
}

// All PEs choose the same executor, also a PE whose NULL does not show where the others' sources
// are.
TEST(DeviceCollectives, CollectTakesNullFromAPeThatBringsNothing) {
  constexpr size_t kElems = 5;
  on_all_places([](Place to, Place from) {
    for_each_collective([&](auto row) {
      using E = typename decltype(row)::Element;
      if (is_left_out(row.type)) return;
      SCOPED_TRACE(row.type);
      PlacedArray<E> dest(to, total(kElems)), source(from, kElems);
      source.write(samples<E>(kElems, my_pe(), 1));
      shmem_barrier_all();
      const bool brings = my_pe() > 0;
      EXPECT_EQ(row.collect(SHMEM_TEAM_WORLD, dest.data(), brings ? source.data() : nullptr,
                            brings ? kElems : 0),
                0);
      const std::vector<E> collected = dest.read();
      for (int pe = 1; pe < n_pes(); ++pe)
        expect_filled("collect", collected.data() + kElems * static_cast<size_t>(pe - 1), kElems,
                      pe, 1);
      shmem_barrier_all();
    });
  });
}

TEST(DeviceCollectives, AlltoallsLeavesTheGapsAlone) {
  constexpr size_t kElems = 37;
  on_all_places([](Place to, Place from) {
    for_each_collective([&](auto row) {
      using E = typename decltype(row)::Element;
      if (is_left_out(row.type)) return;
      SCOPED_TRACE(row.type);
      PlacedArray<E> dest(to, total(kElems * 3)), source(from, total(kElems * 2));
      source.write(samples<E>(source.size(), my_pe(), 1));
      dest.write(samples<E>(dest.size(), my_pe(), 2));
      shmem_barrier_all();
      EXPECT_EQ(row.alltoalls(SHMEM_TEAM_WORLD, dest.data(), source.data(), 3, 2, kElems), 0);
      expect_each("alltoalls", dest.read().data(), dest.size(), [&](size_t i) {
        const size_t block = i / 3 / kElems, element = i / 3 % kElems;
        const size_t there = (static_cast<size_t>(my_pe()) * kElems + element) * 2;
        return i % 3 == 0 ? sample<E>(seed_of(static_cast<int>(block), there, 1))
                          : sample<E>(seed_of(my_pe(), i, 2));
      });
      shmem_barrier_all();
    });
  });
}

// Small whole numbers, which every type holds and whose sums are exact in any order.
template <typename E>
E term(int pe, size_t i) {
  return static_cast<E>((static_cast<size_t>(pe) * 7 + i * 3) % 5 + 1);
}
template <typename E>
std::vector<E> terms(size_t n, int pe) {
  std::vector<E> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = term<E>(pe, i);
  return values;
}

// Runs reduce(team, dest, source, n), in place too, and compares with `combine` over all PEs.
template <typename E, typename Reduce, typename Combine>
void check_reduce(const char* what, Place to, Place from, const Reduce& reduce,
                  const Combine& combine) {
  SCOPED_TRACE(what);
  const auto expected = [&](size_t i) {
    E value = term<E>(0, i);
    for (int pe = 1; pe < n_pes(); ++pe) value = combine(value, term<E>(pe, i));
    return value;
  };
  for (const size_t n : counts(to, from, sizeof(E) < 8 ? 700 : 9001)) {
    PlacedArray<E> dest(to, n), source(from, n);
    source.write(terms<E>(n, my_pe()));
    shmem_barrier_all();
    EXPECT_EQ(reduce(SHMEM_TEAM_WORLD, dest.data(), source.data(), n), 0);
    expect_each(what, dest.read().data(), n, expected);
    if (from == Place::host) continue;
    shmem_barrier_all();
    EXPECT_EQ(reduce(SHMEM_TEAM_WORLD, source.data(), source.data(), n), 0);
    expect_each("in place", source.read().data(), n, expected);
  }
}

TEST(DeviceReductions, CombineEveryTypeBetweenAnyPlaces) {
  on_all_places([](Place to, Place from) {
    for_each_reduce_order([&](auto row) {
      using E = typename decltype(row)::Element;
      if (is_left_out(row.type)) return;
      SCOPED_TRACE(row.type);
      check_reduce<E>("max", to, from, row.max_reduce, [](E a, E b) { return a > b ? a : b; });
      check_reduce<E>("min", to, from, row.min_reduce, [](E a, E b) { return a < b ? a : b; });
    });
    for_each_reduce_arith([&](auto row) {
      using E = typename decltype(row)::Element;
      if (is_left_out(row.type)) return;
      SCOPED_TRACE(row.type);
      check_reduce<E>("sum", to, from, row.sum_reduce,
                      [](E a, E b) { return static_cast<E>(a + b); });
      check_reduce<E>("prod", to, from, row.prod_reduce,
                      [](E a, E b) { return static_cast<E>(a * b); });
    });
    for_each_reduce_logic([&](auto row) {
      using E = typename decltype(row)::Element;
      if (is_left_out(row.type)) return;
      SCOPED_TRACE(row.type);
      check_reduce<E>("and", to, from, row.and_reduce,
                      [](E a, E b) { return static_cast<E>(a & b); });
      check_reduce<E>("or", to, from, row.or_reduce,
                      [](E a, E b) { return static_cast<E>(a | b); });
      check_reduce<E>("xor", to, from, row.xor_reduce,
                      [](E a, E b) { return static_cast<E>(a ^ b); });
    });
  });
}

TEST(DeviceScans, SumWhatComesBefore) {
  on_all_places([](Place to, Place from) {
    for_each_reduce_arith([&](auto row) {
      using E = typename decltype(row)::Element;
      if (is_left_out(row.type)) return;
      SCOPED_TRACE(row.type);
      for (const size_t n : counts(to, from, sizeof(E) < 8 ? 700 : 9001)) {
        PlacedArray<E> dest(to, n), source(from, n);
        source.write(terms<E>(n, my_pe()));
        const auto expected = [](int pes) {
          return [pes](size_t i) {
            E value{};
            for (int pe = 0; pe < pes; ++pe) value = static_cast<E>(value + term<E>(pe, i));
            return value;
          };
        };
        shmem_barrier_all();
        EXPECT_EQ(row.sum_inscan(SHMEM_TEAM_WORLD, dest.data(), source.data(), n), 0);
        expect_each("inscan", dest.read().data(), n, expected(my_pe() + 1));
        shmem_barrier_all();
        EXPECT_EQ(row.sum_exscan(SHMEM_TEAM_WORLD, dest.data(), source.data(), n), 0);
        expect_each("exscan", dest.read().data(), n, expected(my_pe()));
      }
    });
  });
}

TEST(DeviceCollectives, TeamsOfSomePesComeAndGo) {
  for (int round = 0; round < 12; ++round) {
    const int size = (n_pes() + 1) / 2;  // the even PEs
    shmem_team_t team = SHMEM_TEAM_INVALID;
    EXPECT_EQ(
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, size > 1 ? 2 : 0, size, nullptr, 0, &team),
        0);
    PlacedArray<long> dest(Place::device, 3), source(Place::device, 3);
    source.write({my_pe(), round, 1L << 40});
    if (team != SHMEM_TEAM_INVALID) {
      for (int repeat = 0; repeat < 3; ++repeat)
        EXPECT_EQ(shmem_long_sum_reduce(team, dest, source, 3), 0);
      const long n = size;
      EXPECT_EQ(dest.read(), (std::vector<long>{n * (n - 1), n * round, n << 40}));
      shmem_team_destroy(team);
    }
    shmem_barrier_all();
  }
}

// The deprecated collectives of the even PEs, then of all.
TEST(DeviceCollectives, OfActiveSetsMoveDataBetweenAnyPlaces) {
  static long pSync[SHMEM_SYNC_SIZE];
  constexpr size_t kElems = 9001;  // more than one message
  on_all_places([](Place to, Place from) {
    PlacedArray<uint64_t> dest(to, total(kElems)), source(from, total(kElems));
    source.write(samples<uint64_t>(total(kElems), my_pe(), 1));
    dest.write(samples<uint64_t>(total(kElems), my_pe(), 2));
    shmem_barrier_all();
    for (const int step : {2, 1}) {
      const int size = (n_pes() + step - 1) / step, log_stride = step - 1, root = size - 1;
      if (my_pe() % step != 0) continue;
      const bool is_root = my_pe() == root * step;
      shmem_broadcast64(dest, source, kElems, root, 0, log_stride, size, pSync);
      expect_filled("broadcast", dest.read().data(), kElems, root * step, is_root ? 2 : 1);
      dest.write(samples<uint64_t>(kElems, my_pe(), 2));
      shmem_barrier(0, log_stride, size, pSync);

      shmem_alltoall64(dest, source, 5, 0, log_stride, size, pSync);
      const auto mine = static_cast<size_t>(my_pe() / step) * 5;
      expect_each("alltoall", dest.read().data(), 5 * static_cast<size_t>(size), [&](size_t i) {
        return sample<uint64_t>(seed_of(static_cast<int>(i / 5) * step, mine + i % 5, 1));
      });
      shmem_barrier(0, log_stride, size, pSync);
      shmem_fcollect64(dest, source, kElems, 0, log_stride, size, pSync);
      for (int pe = 0; pe < size; ++pe) {
        expect_filled("fcollect", dest.read().data() + static_cast<size_t>(pe) * kElems, kElems,
                      pe * step, 1);
      }
      dest.write(samples<uint64_t>(kElems, my_pe(), 2));
      shmem_barrier(0, log_stride, size, pSync);
    }
  });
}

TEST(DeviceCollectives, OfActiveSetsReduce) {
  static long pSync[SHMEM_SYNC_SIZE];
  on_all_places([](Place to, Place from) {
    PlacedArray<int> dest(to, 300), source(from, 300), work(from, 151);
    source.write(samples<int>(300, my_pe(), 1));
    shmem_barrier_all();
    shmem_int_xor_to_all(dest, source, 300, 0, 0, n_pes(), work, pSync);
    expect_each("xor", dest.read().data(), 300, [](size_t i) {
      int value = 0;
      for (int pe = 0; pe < n_pes(); ++pe) value ^= sample<int>(seed_of(pe, i, 1));
      return value;
    });
  });
}

// Zeros are equal, and a NaN compares with nothing: the first of two stays, wherever they are.
TEST(DeviceCollectives, MinAndMaxKeepTheFirstOfTwo) {
  const bool is_first = my_pe() == 0;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> mine{is_first ? 0.0 : -0.0, is_first ? -0.0 : 0.0, is_first ? nan : 1.0,
                                 is_first ? 1.0 : nan};
  on_all_places([&](Place to, Place from) {
    PlacedArray<double> dest(to, mine.size()), source(from, mine.size());
    source.write(mine);
    shmem_barrier_all();
    for (const auto reduce : {&shmem_double_max_reduce, &shmem_double_min_reduce}) {
      EXPECT_EQ(reduce(SHMEM_TEAM_WORLD, dest.data(), source.data(), mine.size()), 0);
      const std::vector<double> found = dest.read();
      EXPECT_FALSE(std::signbit(found[0]));
      EXPECT_TRUE(std::signbit(found[1]));
      if (n_pes() > 2) continue;  // what comes of more depends on the order
      EXPECT_TRUE(std::isnan(found[2]));
      EXPECT_EQ(found[3], 1);
    }
    shmem_barrier_all();
  });
}

TEST(DeviceWaits, OfDeprecatedTypesLookIntoDeviceMemory) {
  PlacedArray<short> flag(Place::device, 1);
  PlacedArray<unsigned short> positive(Place::registered, 1);
  PlacedArray<long> count(Place::device, 1);
  flag.write({3});
  positive.write({1});
  count.write({40});
  shmem_barrier_all();
  EXPECT_EQ(shmem_long_fadd(count, 2, next_pe()), 40);
  shmem_short_p(flag, -7, next_pe());
  shmem_ushort_p(positive, 0x8007, next_pe());
  shmem_short_wait(flag, 3);
  shmem_short_wait_until(flag, SHMEM_CMP_LT, 0);
  shmem_ushort_wait_until(positive, SHMEM_CMP_GT, 0x8000);
  EXPECT_EQ(shmem_short_test(flag, SHMEM_CMP_EQ, -7), 1);
  shmem_barrier_all();
  EXPECT_EQ(shmem_long_fetch(count, my_pe()), 42);
}

}  // namespace
}  // namespace meshmem
