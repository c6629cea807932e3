// SPDX-License-Identifier: Apache-2.0
//
// Strided and block-strided copies: iput, iget, ibput, ibget, of every type and width.
// Invariant: elements between the strides keep their old values, in the heap, in static memory and
// in private memory.
#include <vector>

#include "symmetric_array.hpp"
#include "typed_routines.hpp"

namespace meshmem {
namespace {

constexpr size_t kSpan = 120;
constexpr int kOld = 7;
constexpr int kNew = 8;

alignas(16) std::byte static_span[kSpan * sizeof(meshmem_bits128)];

// nblocks blocks of bsize elements, block b at b * dst and b * sst.
struct Shape {
  ptrdiff_t dst;
  ptrdiff_t sst;
  size_t bsize;
  size_t nblocks;
};

// A model of the copy: which element of source is at index i of dest, or -1 for none.
ptrdiff_t source_index(const Shape& shape, size_t i) {
  const size_t block = i / static_cast<size_t>(shape.dst);
  const size_t within = i % static_cast<size_t>(shape.dst);
  if (block >= shape.nblocks || within >= shape.bsize) return -1;
  return static_cast<ptrdiff_t>(block) * shape.sst + static_cast<ptrdiff_t>(within);
}

template <typename E>
void expect_shape(const char* what, const E* dest, const Shape& shape, int from) {
  expect_each(what, dest, kSpan, [&](size_t i) {
    const ptrdiff_t index = source_index(shape, i);
    if (index < 0) return sample<E>(seed_of(my_pe(), i, kOld));
    return sample<E>(seed_of(from, static_cast<size_t>(index), kNew));
  });
}

// Runs `copy`, which puts to the next PE or gets from it, and compares dest with the model.
template <typename E, typename Copy>
void check_shape(const char* what, E* dest, E* source, const Shape& shape, int from,
                 const Copy& copy) {
  fill(dest, kSpan, my_pe(), kOld);
  fill(source, kSpan, my_pe(), kNew);
  shmem_barrier_all();
  copy(dest, source, next_pe());
  shmem_barrier_all();
  expect_shape<E>(what, dest, shape, from);
}

constexpr Shape kStrides[] = {{1, 1, 1, 20}, {3, 1, 1, 20}, {1, 4, 1, 20}, {5, 5, 1, 20},
                              {2, 7, 1, 13}, {9, 2, 1, 1},  {6, 3, 1, 0}};
constexpr Shape kBlocks[] = {{3, 3, 3, 11}, {5, 3, 3, 11}, {4, 9, 4, 7}, {7, 8, 1, 10},
                             {11, 6, 5, 9}, {8, 8, 7, 1},  {4, 4, 2, 0}, {20, 20, 20, 6}};

// Calls check(row, heap, local, shape) for every type and shape.
template <size_t n, typename Check>
void for_each_shape(const Shape (&shapes)[n], const Check& check) {
  for_each_strided([&](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    SymmetricArray<E> heap(kSpan);
    std::vector<E> local(kSpan);
    for (const Shape& s : shapes) check(row, heap.data(), local.data(), s);
  });
}

TEST(Strided, S38_PutsEveryElementAtItsStride) {
  for_each_shape(kStrides, [](const auto& row, auto* heap, auto* local, const Shape& s) {
    check_shape("iput", heap, local, s, previous_pe(), [&](auto* to, auto* from, int pe) {
      row.iput(to, from, s.dst, s.sst, s.nblocks, pe);
    });
  });
}

TEST(Strided, S38_GetsEveryElementAtItsStride) {
  for_each_shape(kStrides, [](const auto& row, auto* heap, auto* local, const Shape& s) {
    check_shape("iget", local, heap, s, next_pe(), [&](auto* to, auto* from, int pe) {
      row.iget(to, from, s.dst, s.sst, s.nblocks, pe);
    });
  });
}

TEST(BlockStrided, S38_PutsEveryBlockAtItsStride) {
  for_each_shape(kBlocks, [](const auto& row, auto* heap, auto* local, const Shape& s) {
    check_shape("ibput", heap, local, s, previous_pe(), [&](auto* to, auto* from, int pe) {
      row.ibput(to, from, s.dst, s.sst, s.bsize, s.nblocks, pe);
    });
  });
}

TEST(BlockStrided, S38_GetsEveryBlockAtItsStride) {
  for_each_shape(kBlocks, [](const auto& row, auto* heap, auto* local, const Shape& s) {
    check_shape("ibget", local, heap, s, next_pe(), [&](auto* to, auto* from, int pe) {
      row.ibget(to, from, s.dst, s.sst, s.bsize, s.nblocks, pe);
    });
  });
}

TEST(BlockStrided, S38_BlocksOfOneAreStrides) {
  SymmetricArray<short> heap(kSpan);
  std::vector<short> local(kSpan);
  for (const Shape& s : kStrides) {
    check_shape<short>("ibput", heap, local.data(), s, previous_pe(),
                       [&](short* to, short* from, int pe) {
                         shmem_short_ibput(to, from, s.dst, s.sst, 1, s.nblocks, pe);
                       });
    check_shape<short>("ibget", local.data(), heap, s, next_pe(),
                       [&](short* to, short* from, int pe) {
                         shmem_short_ibget(to, from, s.dst, s.sst, 1, s.nblocks, pe);
                       });
  }
}

// A copy element by element could load numbers, which would change a NaN.
TEST(Strided, KeepsTheBitsOfFloatingPointPatterns) {
  for_each_typed_strided([](const auto& row) {
    using E = typename std::decay_t<decltype(row)>::Element;
    if constexpr (!std::is_integral_v<E>) {
      SCOPED_TRACE(row.type);
      SymmetricArray<E> heap(3 * kPatterns);
      E source[kPatterns], dest[2 * kPatterns];
      fill_patterns(source);
      row.iput(heap, source, 3, 1, kPatterns, next_pe());
      shmem_barrier_all();
      expect_patterns("iput", heap.data(), 3);
      row.iget(dest, heap, 2, 3, kPatterns, next_pe());
      expect_patterns("iget", dest, 2);
    }
  });
}

TEST(Strided, S9_ReachesStaticMemory) {
  for_each_strided([](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    E* global = reinterpret_cast<E*>(static_span);
    SymmetricArray<E> heap(kSpan);
    const Shape s{5, 4, 3, 9};
    check_shape<E>("ibput", global, heap, s, previous_pe(), [&](E* to, E* from, int pe) {
      row.ibput(to, from, s.dst, s.sst, s.bsize, s.nblocks, pe);
    });
    check_shape<E>("ibget", heap, global, s, next_pe(), [&](E* to, E* from, int pe) {
      row.ibget(to, from, s.dst, s.sst, s.bsize, s.nblocks, pe);
    });
  });
}

TEST(Strided, S18_NullWithLengthZeroDoesNothing) {
  for_each_strided([](const auto& row) {
    row.iput(nullptr, nullptr, 1, 1, 0, next_pe());
    row.iget(nullptr, nullptr, 2, 1, 0, next_pe());
    row.ibput(nullptr, nullptr, 2, 2, 2, 0, next_pe());
    row.ibget(nullptr, nullptr, 2, 2, 2, 0, next_pe());
    row.ibput(nullptr, nullptr, 2, 2, 0, 5, next_pe());
    row.ibget(nullptr, nullptr, 2, 2, 0, 5, next_pe());
  });
}

}  // namespace
}  // namespace meshmem
