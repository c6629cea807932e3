// SPDX-License-Identifier: Apache-2.0
//
// Puts and gets of the host API where one address or both are in the device heap or in a registered
// buffer.
// Invariant: each routine meets every mixture of places with every type; the GPU's runtime reads
// the result.
#include "placed_array.hpp"
#include "typed_routines.hpp"

namespace meshmem {
namespace {

constexpr size_t kElems = 40;

// Runs copy(dest, source, n) on fresh contents and expects what `from` had in its source.
template <typename E, typename Copy>
void check_copy(const char* what, PlacedArray<E>& dest, PlacedArray<E>& source, size_t n, int from,
                const Copy& copy) {
  static int round = 0;
  ++round;
  source.write(samples<E>(source.size(), my_pe(), round));
  dest.write(samples<E>(dest.size(), my_pe(), -round));
  shmem_barrier_all();
  copy(dest.data(), source.data(), n);
  shmem_barrier_all();
  const std::vector<E> got = dest.read();
  expect_filled(what, got.data(), n, from, round);
  EXPECT_TRUE(same(got[n], sample<E>(seed_of(my_pe(), n, -round)))) << what << " went too far";
}

TEST(DeviceRma, PutAndGetMoveEveryTypeBetweenAnyPlaces) {
  on_all_places([](Place to, Place from) {
    for_each_rma([&](auto row) {
      using E = typename decltype(row)::Element;
      SCOPED_TRACE(row.type);
      PlacedArray<E> dest(to, kElems), source(from, kElems);
      for (const size_t n : {size_t{1}, size_t{0}, size_t{3}, kElems - 1}) {
        check_copy("put", dest, source, n, previous_pe(),
                   [&](E* d, E* s, size_t count) { row.put(d, s, count, next_pe()); });
        check_copy("get", dest, source, n, next_pe(),
                   [&](E* d, E* s, size_t count) { row.get(d, s, count, next_pe()); });
      }
      check_copy("put_nbi", dest, source, 17, previous_pe(),
                 [&](E* d, E* s, size_t count) { row.put_nbi(d, s, count, next_pe()); });
      check_copy("get_nbi", dest, source, 17, next_pe(), [&](E* d, E* s, size_t count) {
        row.get_nbi(d, s, count, next_pe());
        shmem_quiet();
      });
    });
  });
}

TEST(DeviceRma, PutTakesASourceOfTheStack) {
  PlacedArray<long> dest(Place::device, 4);
  const long values[4] = {1, -1, 1L << 40, my_pe()};
  shmem_long_put(dest, values, 4, next_pe());
  shmem_barrier_all();
  EXPECT_EQ(dest.read(), (std::vector<long>{1, -1, 1L << 40, previous_pe()}));
}

TEST(DeviceRma, LargePutsAndGetsArriveWhole) {
  constexpr size_t kLarge = (3 << 20) + 5;
  on_all_places([](Place to, Place from) {
    PlacedArray<uint8_t> dest(to, kLarge + 1), source(from, kLarge + 1);
    check_copy("put", dest, source, kLarge, previous_pe(), [](uint8_t* d, uint8_t* s, size_t n) {
      shmem_putmem_nbi(d, s, n, next_pe());
      shmem_quiet();
    });
    check_copy("get", dest, source, kLarge, next_pe(),
               [](uint8_t* d, uint8_t* s, size_t n) { shmem_getmem(d, s, n, next_pe()); });
  });
}

TEST(DeviceRma, PAndGMoveOneElementOfEveryType) {
  for_each_single([](auto row) {
    using E = typename decltype(row)::Element;
    SCOPED_TRACE(row.type);
    for (const Place place : {Place::device, Place::registered}) {
      PlacedArray<E> word(place, 3);
      row.p(word + 1, sample<E>(seed_of(my_pe(), 7)), next_pe());
      shmem_barrier_all();
      EXPECT_TRUE(same(word.read()[1], sample<E>(seed_of(previous_pe(), 7))));
      EXPECT_TRUE(same(row.g(word + 1, next_pe()), sample<E>(seed_of(my_pe(), 7))));
      shmem_barrier_all();
    }
  });
}

TEST(DeviceRma, StridedFormsMoveTheirElementsOnly) {
  on_all_places([](Place to, Place from) {
    for_each_strided([&](auto row) {
      using E = typename decltype(row)::Element;
      SCOPED_TRACE(row.type);
      PlacedArray<E> dest(to, kElems), source(from, kElems);
      const auto check = [&](const char* what, int pe, size_t block, const auto& copy) {
        source.write(samples<E>(kElems, my_pe(), 1));
        dest.write(samples<E>(kElems, my_pe(), 2));
        shmem_barrier_all();
        copy();
        shmem_barrier_all();
        const std::vector<E> got = dest.read();
        expect_each(what, got.data(), kElems, [&](size_t i) {
          const size_t index = i / 5, within = i % 5;  // blocks at 5 in dest, at 3 in source
          const bool moved = index < 6 && within < block;
          return moved ? sample<E>(seed_of(pe, index * 3 + within, 1))
                       : sample<E>(seed_of(my_pe(), i, 2));
        });
      };
      check("iput", previous_pe(), 1,
            [&] { row.iput(dest.data(), source.data(), 5, 3, 6, next_pe()); });
      check("iget", next_pe(), 1,
            [&] { row.iget(dest.data(), source.data(), 5, 3, 6, next_pe()); });
      check("ibput", previous_pe(), 3,
            [&] { row.ibput(dest.data(), source.data(), 5, 3, 3, 6, next_pe()); });
      check("ibget", next_pe(), 3,
            [&] { row.ibget(dest.data(), source.data(), 5, 3, 3, 6, next_pe()); });
    });
  });
}

TEST(DeviceRma, StridedBlocksMayBeLargerThanAPage) {
  constexpr size_t kBlock = 3000, kBlocks = 40;
  on_all_places([](Place to, Place from) {
    PlacedArray<int> dest(to, kBlock * kBlocks), source(from, (kBlock + 3) * kBlocks);
    source.write(samples<int>(source.size(), my_pe()));
    shmem_barrier_all();
    shmem_int_ibput(dest, source, kBlock, kBlock + 3, kBlock, kBlocks, next_pe());
    shmem_barrier_all();
    expect_each("ibput", dest.read().data(), dest.size(), [](size_t i) {
      return sample<int>(seed_of(previous_pe(), i / kBlock * (kBlock + 3) + i % kBlock));
    });
  });
}

}  // namespace
}  // namespace meshmem
