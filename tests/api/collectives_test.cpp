// SPDX-License-Identifier: Apache-2.0
//
// Collectives that move data: broadcast, fcollect, collect, alltoall, alltoalls, of every type, on
// several teams.
// Invariant: a member fills its source by its own number in the world, so that an element of the
// wrong PE, or at the wrong place, is seen. dest has elements before and after that must stay.
// SymmetricArrays are made by all PEs, before a team is entered.
#include <unistd.h>

#include <vector>

#include "symmetric_array.hpp"
#include "team_views.hpp"
#include "typed_routines.hpp"

namespace meshmem {
namespace {

constexpr int kOld = 500;
constexpr size_t kMaxPes = 8;

// dest[0], and the elements after the n that a collective wrote at dest + 1, are as before.
template <typename E>
void expect_frame(const E* dest, size_t n) {
  EXPECT_TRUE(same(dest[0], sample<E>(seed_of(my_pe(), 0, kOld))));
  EXPECT_TRUE(same(dest[n + 1], sample<E>(seed_of(my_pe(), n + 1, kOld))));
}

// Fills both arrays and lets all members know that dest is ready.
template <typename E>
void prepare(const TeamView& view, E* dest, size_t dest_elems, E* source, size_t n, int round) {
  fill(dest, dest_elems + 2, my_pe(), kOld);
  fill(source, n, my_pe(), round);
  EXPECT_EQ(shmem_team_sync(view.team), 0);
}

template <typename Row, typename E>
void check_broadcast(const Row& row, const TeamView& view, E* dest, E* source, size_t n, int root) {
  prepare(view, dest, n, source, n, root);
  EXPECT_EQ(row.broadcast(view.team, dest + 1, source, n, root), 0);
  expect_filled("broadcast", dest + 1, n, view.world(static_cast<size_t>(root)), root);
  expect_frame(dest, n);
}

template <typename Row, typename E>
void check_fcollect(const Row& row, const TeamView& view, E* dest, E* source, size_t n) {
  prepare(view, dest, n * view.size(), source, n, 1);
  EXPECT_EQ(row.fcollect(view.team, dest + 1, source, n), 0);
  for (size_t pe = 0; pe < view.size(); ++pe) {
    expect_filled("fcollect", dest + 1 + pe * n, n, view.world(pe), 1);
  }
  expect_frame(dest, n * view.size());
}

// How many elements a PE of a team brings to a collect: none for some, who have no source.
size_t share(size_t pe, size_t n) { return pe % 3 == 1 ? 0 : n + pe; }

template <typename Row, typename E>
void check_collect(const Row& row, const TeamView& view, E* dest, E* source, size_t n) {
  size_t total = 0;
  for (size_t pe = 0; pe < view.size(); ++pe) total += share(pe, n);
  const size_t mine = share(static_cast<size_t>(view.me), n);
  prepare(view, dest, total, source, mine, 2);
  EXPECT_EQ(row.collect(view.team, dest + 1, mine == 0 ? nullptr : source, mine), 0);
  size_t at = 1;
  for (size_t pe = 0; pe < view.size(); at += share(pe, n), ++pe) {
    expect_filled("collect", dest + at, share(pe, n), view.world(pe), 2);
  }
  expect_frame(dest, total);
}

template <typename Row, typename E>
void check_alltoall(const Row& row, const TeamView& view, E* dest, E* source, size_t n) {
  prepare(view, dest, n * view.size(), source, n * view.size(), 3);
  EXPECT_EQ(row.alltoall(view.team, dest + 1, source, n), 0);
  const size_t first = static_cast<size_t>(view.me) * n;  // of my block in the others' source
  for (size_t pe = 0; pe < view.size(); ++pe) {
    expect_each("alltoall", dest + 1 + pe * n, n,
                [&](size_t i) { return sample<E>(seed_of(view.world(pe), first + i, 3)); });
  }
  expect_frame(dest, n * view.size());
}

// Element j of block b is at (b * n + j) * stride; elements between them stay.
template <typename Row, typename E>
void check_alltoalls(const Row& row, const TeamView& view, E* dest, E* source, size_t n, size_t dst,
                     size_t sst) {
  const size_t all = n * view.size();
  prepare(view, dest, all * dst, source, all * sst, 4);
  EXPECT_EQ(row.alltoalls(view.team, dest + 1, source, static_cast<ptrdiff_t>(dst),
                          static_cast<ptrdiff_t>(sst), n),
            0);
  const size_t first = static_cast<size_t>(view.me) * n;
  expect_each("alltoalls", dest + 1, all * dst, [&](size_t i) {
    if (i % dst != 0) return sample<E>(seed_of(my_pe(), i + 1, kOld));
    const size_t pe = i / dst / n, element = i / dst % n;
    return sample<E>(seed_of(view.world(pe), (first + element) * sst, 4));
  });
}

constexpr size_t kElems = 9 * kMaxPes * 3 + 80;

// Calls check(row, view, dest, source) for every type on every team.
template <typename Check>
void for_every_type_and_team(const Check& check) {
  for_each_collective([&](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    SymmetricArray<E> dest(kElems);
    SymmetricArray<E> source(kElems);
    on_every_team([&](const TeamView& view) { check(row, view, dest.data(), source.data()); });
  });
}

TEST(Broadcast, S54_ReachesEveryDestTheRootsToo) {
  for_every_type_and_team([](const auto& row, const TeamView& view, auto* dest, auto* source) {
    for (int root = 0; root < view.n(); ++root) {
      check_broadcast(row, view, dest, source, 1 + static_cast<size_t>(root) * 5, root);
    }
    check_broadcast(row, view, dest, source, 64, view.n() - 1);
  });
}

TEST(Fcollect, S55_GathersInTeamOrder) {
  for_every_type_and_team([](const auto& row, const TeamView& view, auto* dest, auto* source) {
    for (size_t n : {1, 2, 7, 13}) check_fcollect(row, view, dest, source, n);
  });
}

TEST(Collect, S55_GathersAsMuchAsEachBrings) {
  for_every_type_and_team([](const auto& row, const TeamView& view, auto* dest, auto* source) {
    for (size_t n : {0, 1, 11}) check_collect(row, view, dest, source, n);
  });
}

// Each PE brings another part of one array, or nothing from another place, also in blocks so large
// that PEs of a machine read them from each other.
TEST(Collect, S55_TakesEachPesOwnSource) {
  const auto me = static_cast<size_t>(my_pe()), pes = static_cast<size_t>(n_pes());
  for (const size_t most : {size_t{3000}, size_t{200} << 10}) {
    const auto length_of = [&](size_t pe) { return pe % 3 == 1 ? 0 : most - 7 * pe; };
    SymmetricArray<char> source(most * pes), dest(most * pes), other(8);
    for (size_t i = 0; i < most * pes; ++i) source[i] = static_cast<char>(i % 97 + me);
    shmem_barrier_all();
    const char* mine = length_of(me) == 0 ? &other[3] : &source[me * most];
    EXPECT_EQ(shmem_collectmem(SHMEM_TEAM_WORLD, dest, mine, length_of(me)), 0);
    const char* next = &dest[0];
    for (size_t pe = 0; pe < pes; ++pe) {
      size_t wrong = 0;
      for (size_t i = 0; i < length_of(pe); ++i, ++next)
        wrong += *next != static_cast<char>((pe * most + i) % 97 + pe);
      EXPECT_EQ(wrong, 0u) << "of PE " << pe << ", blocks of " << most;
    }
    shmem_barrier_all();
  }
}

TEST(Alltoall, S55_TransposesTheBlocks) {
  for_every_type_and_team([](const auto& row, const TeamView& view, auto* dest, auto* source) {
    for (size_t n : {1, 3, 8}) check_alltoall(row, view, dest, source, n);
  });
}

TEST(Alltoalls, S55_TransposesStridedElements) {
  for_every_type_and_team([](const auto& row, const TeamView& view, auto* dest, auto* source) {
    check_alltoalls(row, view, dest, source, 1, 1, 1);
    check_alltoalls(row, view, dest, source, 5, 1, 3);
    check_alltoalls(row, view, dest, source, 5, 3, 2);
  });
}

TEST(Collectives, S18_ZeroLengthReturnsZeroAndStaysMatched) {
  for_every_type_and_team([](const auto& row, const TeamView& view, auto* dest, auto* source) {
    EXPECT_EQ(row.broadcast(view.team, nullptr, nullptr, 0, 0), 0);
    EXPECT_EQ(row.fcollect(view.team, nullptr, nullptr, 0), 0);
    EXPECT_EQ(row.collect(view.team, nullptr, nullptr, 0), 0);
    EXPECT_EQ(row.alltoall(view.team, nullptr, nullptr, 0), 0);
    EXPECT_EQ(row.alltoalls(view.team, nullptr, nullptr, 1, 1, 0), 0);
    check_fcollect(row, view, dest, source, 3);
    EXPECT_EQ(row.broadcast(view.team, dest, source, 0, view.n() - 1), 0);
    check_broadcast(row, view, dest, source, 3, 0);
  });
}

TEST(Collectives, KeepTheBitsOfFloatingPointPatterns) {
  const auto pes = static_cast<size_t>(n_pes());
  for_each_typed_collective([&](const auto& row) {
    using E = typename std::decay_t<decltype(row)>::Element;
    if constexpr (!std::is_integral_v<E>) {
      SCOPED_TRACE(row.type);
      SymmetricArray<E> source(kPatterns * pes), dest(2 * kPatterns * pes);
      for (size_t pe = 0; pe < pes; ++pe) fill_patterns(&source[pe * kPatterns]);
      shmem_barrier_all();
      EXPECT_EQ(row.fcollect(SHMEM_TEAM_WORLD, dest, source, kPatterns), 0);
      expect_patterns("fcollect", &dest[(pes - 1) * kPatterns]);
      shmem_barrier_all();
      EXPECT_EQ(row.alltoalls(SHMEM_TEAM_WORLD, dest, source, 2, 1, kPatterns), 0);
      expect_patterns("alltoalls", &dest[2 * (pes - 1) * kPatterns], 2);
    }
  });
}

// Lengths and offsets that are multiples of nothing, unlike in source and dest.
TEST(Collectives, S19_MemFormsTakeAnyByteOffset) {
  const auto mem = collective_mem();
  const auto pes = static_cast<size_t>(n_pes());
  const size_t largest = 4099;
  SymmetricArray<char> dest((largest + pes) * 3 * pes + 16), source(largest * 3 * pes + 16);
  const TeamView view = world_view();
  for (const size_t offset : {0, 2, 3, 6}) {  // dest itself is one byte further
    for (const size_t n : {size_t{1}, size_t{9}, size_t{63}, largest}) {
      SCOPED_TRACE(testing::Message() << n << " bytes, offset " << offset);
      char *to = &dest[offset], *from = &source[(offset * 5 + 1) % 8];
      check_broadcast(mem, view, to, from, n, view.n() - 1);
      check_fcollect(mem, view, to, from, n);
      check_collect(mem, view, to, from, n);
      check_alltoall(mem, view, to, from, n);
      check_alltoalls(mem, view, to, from, n, 3, 2);
    }
  }
}

TEST(Broadcast, S53_InPlaceWorks) {
  SymmetricArray<long> block(40);
  on_every_team([&](const TeamView& view) {
    for (int root = 0; root < view.n(); ++root) {
      fill(block.data(), 40, my_pe(), root);
      EXPECT_EQ(shmem_team_sync(view.team), 0);
      EXPECT_EQ(shmem_long_broadcast(view.team, block, block, 40, root), 0);
      expect_filled("broadcast", block.data(), 40, view.world(static_cast<size_t>(root)), root);
    }
  });
}

// Sizes around those at which an implementation changes how it sends: a cache line, pages, 64 KiB,
// a megabyte.
TEST(Collectives, CarryMessagesOfEverySize) {
  const auto mem = collective_mem();
  const size_t pes = static_cast<size_t>(n_pes());
  const size_t largest = (1u << 20) + 3;
  SymmetricArray<char> dest((largest + pes) * pes + 2);
  SymmetricArray<char> source(largest * pes);
  on_every_team([&](const TeamView& view) {
    for (size_t n : {48, 55, 56, 57, 64, 65, 4096, 65535, 65537, 131072}) {
      SCOPED_TRACE(n);
      check_broadcast(mem, view, dest.data(), source.data(), n, view.n() / 2);
      if (n > 70000) continue;
      check_fcollect(mem, view, dest.data(), source.data(), n);
      if (n == 65535) continue;  // long messages take long, so once is enough
      check_collect(mem, view, dest.data(), source.data(), n);
      check_alltoall(mem, view, dest.data(), source.data(), n);
    }
    if (view.team != SHMEM_TEAM_WORLD) return;
    check_broadcast(mem, view, dest.data(), source.data(), largest, 0);
  });
}

constexpr int kRounds = 60;

// Makes one PE late in every fifth round: the others' next calls could overtake it.
void be_late_in_turn(int round) {
  if (round % 5 == 4 && round / 5 % n_pes() == my_pe()) usleep(1000);
}

// Calls follow each other without a barrier, each with its own dest; the source changes as soon as
// a call has returned.
template <typename Call, typename Expect>
void call_back_to_back(size_t source_elems, size_t dest_elems, const Call& call,
                       const Expect& expect) {
  const size_t rounds = kRounds;
  SymmetricArray<uint64_t> dest(dest_elems * rounds);
  SymmetricArray<uint64_t> source(source_elems);
  std::fill(dest.data(), dest.data() + dest.size(), 0);
  shmem_barrier_all();
  for (int round = 0; round < kRounds; ++round) {
    be_late_in_turn(round);
    fill(source.data(), source_elems, my_pe(), round);
    EXPECT_EQ(call(&dest[static_cast<size_t>(round) * dest_elems], source.data(), round), 0);
  }
  fill(source.data(), source_elems, my_pe(), kRounds + 1);
  for (int round = 0; round < kRounds; ++round) {
    expect(&dest[static_cast<size_t>(round) * dest_elems], round);
  }
}

TEST(Broadcast, S51_BackToBackCallsKeepApart) {
  for (size_t n : {size_t{1}, size_t{7}, size_t{100}, size_t{9000}}) {
    for (int roots : {1, n_pes()}) {  // one root that runs ahead, or all in turn
      SCOPED_TRACE(testing::Message() << n << " elements, " << roots << " roots");
      call_back_to_back(
          n, n,
          [&](uint64_t* dest, uint64_t* source, int round) {
            return shmem_uint64_broadcast(SHMEM_TEAM_WORLD, dest, source, n, round % roots);
          },
          [&](uint64_t* dest, int round) {
            expect_filled("broadcast", dest, n, round % roots, round);
          });
    }
  }
}

TEST(Fcollect, S51_BackToBackCallsKeepApart) {
  const auto pes = static_cast<size_t>(n_pes());
  for (size_t n : {size_t{1}, size_t{7}, size_t{100}, size_t{2500}}) {
    call_back_to_back(
        n, n * pes,
        [&](uint64_t* dest, uint64_t* source, int) {
          return shmem_uint64_fcollect(SHMEM_TEAM_WORLD, dest, source, n);
        },
        [&](uint64_t* dest, int round) {
          for (size_t pe = 0; pe < pes; ++pe) {
            expect_filled("fcollect", dest + pe * n, n, static_cast<int>(pe), round);
          }
        });
  }
}

TEST(Alltoall, S51_BackToBackCallsKeepApart) {
  const auto pes = static_cast<size_t>(n_pes());
  for (size_t n : {size_t{1}, size_t{100}, size_t{1500}}) {
    call_back_to_back(
        n * pes, n * pes,
        [&](uint64_t* dest, uint64_t* source, int) {
          return shmem_uint64_alltoall(SHMEM_TEAM_WORLD, dest, source, n);
        },
        [&](uint64_t* dest, int round) {
          const size_t first = static_cast<size_t>(my_pe()) * n;
          for (size_t pe = 0; pe < pes; ++pe) {
            expect_each("alltoall", dest + pe * n, n, [&](size_t i) {
              return sample<uint64_t>(seed_of(static_cast<int>(pe), first + i, round));
            });
          }
        });
  }
}

// All kinds in turn, by lines and by stage, without a barrier: they share the team's buffers.
TEST(Collectives, S51_KindsMayFollowEachOther) {
  const auto pes = static_cast<size_t>(n_pes());
  const size_t n = 90;
  call_back_to_back(
      n * pes, n * pes,
      [&](uint64_t* dest, uint64_t* source, int round) {
        if (round % 5 == 0) return shmem_uint64_fcollect(SHMEM_TEAM_WORLD, dest, source, n);
        if (round % 5 == 1)
          return shmem_uint64_broadcast(SHMEM_TEAM_WORLD, dest, source, 2, n_pes() - 1);
        if (round % 5 == 2) return shmem_uint64_alltoall(SHMEM_TEAM_WORLD, dest, source, 1);
        if (round % 5 == 3) return shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, dest, source, 3);
        return shmem_uint64_collect(SHMEM_TEAM_WORLD, dest, source, 1);
      },
      [&](uint64_t* dest, int round) {
        const auto last = static_cast<int>(pes) - 1;
        const auto me = static_cast<size_t>(my_pe());
        uint64_t sum = 0;
        for (int pe = 0; pe <= last; ++pe) sum += sample<uint64_t>(seed_of(pe, 2, round));
        if (round % 5 == 0) return expect_filled("fcollect", dest + last * n, n, last, round);
        if (round % 5 == 1) return expect_filled("broadcast", dest, 2, last, round);
        if (round % 5 == 2)
          return expect_all("alltoall", dest + last, 1, sample<uint64_t>(seed_of(last, me, round)));
        if (round % 5 == 3) return expect_all("sum", dest + 2, 1, sum);
        expect_filled("collect", dest + last, 1, last, round);
      });
}

// Teams with other members are made and destroyed, and do different amounts of work. A later team
// takes over their slots and state.
TEST(Collectives, S25_NewTeamsDoNotSeeWhatOldOnesLeft) {
  SymmetricArray<long> dest(64);
  SymmetricArray<long> source(1);
  for (int round = 0; round < 24; ++round) {
    const int width = 1 + round % n_pes();
    TeamView view = make_view(round % (n_pes() - width + 1), 1, width);
    for (int i = 0; view.me >= 0 && i < 3 * round % 37; ++i) {
      source[0] = 1000 * round + 10 * i + my_pe();
      EXPECT_EQ(shmem_team_sync(view.team), 0);
      EXPECT_EQ(shmem_long_fcollect(view.team, dest, source, 1), 0);
      expect_each("fcollect", dest.data(), view.size(),
                  [&](size_t pe) { return 1000 * round + 10 * i + view.world(pe); });
    }
    shmem_team_destroy(view.team);
  }
}

}  // namespace
}  // namespace meshmem
