// SPDX-License-Identifier: Apache-2.0
//
// Remote memory access: put, get, p, g and their nonblocking forms, for every type and width,
// between heap, static and private memory. Strides are in strided_test.cpp, contexts in
// contexts_test.cpp. Invariant: each PE writes to the next one and checks what the previous one
// wrote, elements around it included.
#include <limits>
#include <vector>

#include "symmetric_array.hpp"
#include "typed_routines.hpp"

namespace meshmem {
namespace {

constexpr size_t kElems = 67;
constexpr size_t kCounts[] = {1, 2, 3, 7, 8, 33, 65};
constexpr int kOld = 77;  // the round of what is there before

alignas(16) std::byte static_dest[kElems * sizeof(meshmem_bits128)];
alignas(16) std::byte static_source[kElems * sizeof(meshmem_bits128)];

template <typename E>
E* as(std::byte* bytes) {
  return reinterpret_cast<E*>(bytes);
}

// Puts n elements to the next PE, one element into dest, and expects those and no others to change
// there.
template <typename E, typename Put>
void check_put(const Put& put, E* dest, E* source, size_t n, int round) {
  fill(dest, kElems, my_pe(), kOld);
  fill(source, n, my_pe(), round);
  shmem_barrier_all();
  put(dest + 1, source, n, next_pe());
  shmem_barrier_all();
  expect_filled("put", dest + 1, n, previous_pe(), round);
  expect_filled("before the put", dest, 1, my_pe(), kOld);
  expect_each("after the put", dest + n + 1, kElems - n - 1,
              [=](size_t i) { return sample<E>(seed_of(my_pe(), n + 1 + i, kOld)); });
}

template <typename E, typename Get>
void check_get(const Get& get, E* dest, E* source, size_t n, int round) {
  fill(dest, kElems, my_pe(), kOld);
  fill(source + 1, n, my_pe(), round);
  shmem_barrier_all();
  get(dest + 1, source + 1, n, next_pe());
  expect_filled("get", dest + 1, n, next_pe(), round);
  expect_filled("before the get", dest, 1, my_pe(), kOld);
  expect_each("after the get", dest + n + 1, kElems - n - 1,
              [=](size_t i) { return sample<E>(seed_of(my_pe(), n + 1 + i, kOld)); });
  shmem_barrier_all();
}

// Nonblocking gets are complete after a quiet, which makes them look like blocking ones.
template <typename Row>
auto get_nbi_and_quiet(const Row& row) {
  return [&row](auto* dest, const auto* source, size_t n, int pe) {
    row.get_nbi(dest, source, n, pe);
    shmem_quiet();
  };
}

TEST(Put, CopiesExactlyNelemsOfEveryType) {
  for_each_rma([](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    SymmetricArray<E> heap(kElems);
    std::vector<E> local(kElems);
    int round = 0;
    for (size_t n : kCounts) {
      check_put<E>(row.put, heap, local.data(), n, ++round);
      check_put<E>(row.put_nbi, heap, local.data(), n, ++round);
    }
  });
}

TEST(Get, CopiesExactlyNelemsOfEveryType) {
  for_each_rma([](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    SymmetricArray<E> heap(kElems);
    std::vector<E> local(kElems);
    int round = 0;
    for (size_t n : kCounts) {
      check_get<E>(row.get, local.data(), heap, n, ++round);
      check_get<E>(get_nbi_and_quiet(row), local.data(), heap, n, ++round);
    }
  });
}

TEST(Put, S9_TakesAnyMixOfHeapAndStaticMemory) {
  for_each_rma([](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    SymmetricArray<E> heap(kElems);
    SymmetricArray<E> heap_source(kElems);
    check_put<E>(row.put, heap, as<E>(static_source), 9, 1);
    check_put<E>(row.put, as<E>(static_dest), heap_source, 9, 2);
    check_put<E>(row.put, as<E>(static_dest), as<E>(static_source), 9, 3);
    check_put<E>(row.put_nbi, as<E>(static_dest), as<E>(static_source), 9, 4);
    check_get<E>(row.get, heap, as<E>(static_source), 9, 5);
    check_get<E>(row.get, as<E>(static_dest), heap_source, 9, 6);
    check_get<E>(get_nbi_and_quiet(row), as<E>(static_dest), as<E>(static_source), 9, 7);
  });
}

TEST(Put, ReachesEveryPeItselfIncluded) {
  auto size = static_cast<size_t>(n_pes());
  SymmetricArray<long> from(size);
  for (int pe = 0; pe < n_pes(); ++pe) {
    const long value = sample<long>(seed_of(my_pe(), static_cast<size_t>(pe)));
    shmem_long_put(&from[static_cast<size_t>(my_pe())], &value, 1, pe);
  }
  shmem_barrier_all();
  expect_each("put to all", from.data(), size, [](size_t pe) {
    return sample<long>(seed_of(static_cast<int>(pe), static_cast<size_t>(my_pe())));
  });
}

// Source and dest may be neighbours in one array, as long as they do not overlap.
TEST(Put, S20_CopiesBetweenNeighbouringPartsOfOneArray) {
  SymmetricArray<uint32_t> heap(90);
  fill(heap.data(), 30, my_pe());
  shmem_uint32_put(&heap[30], heap, 30, my_pe());
  shmem_uint32_get(&heap[60], &heap[30], 30, my_pe());
  for (size_t part : {0, 30, 60}) expect_filled("part", &heap[part], 30, my_pe());
}

TEST(Put, S37_SourceMayBeOverwrittenOnReturn) {
  SymmetricArray<uint64_t> dest(1000);
  std::vector<uint64_t> source(1000);
  fill(source.data(), source.size(), my_pe());
  shmem_uint64_put(dest, source.data(), source.size(), next_pe());
  std::fill(source.begin(), source.end(), 0);
  shmem_barrier_all();
  expect_filled("put", dest.data(), dest.size(), previous_pe());
}

TEST(Get, S37_IsCompleteOnReturn) {
  SymmetricArray<uint64_t> source(1000);
  fill(source.data(), source.size(), my_pe());
  shmem_barrier_all();
  std::vector<uint64_t> dest(1000);
  for (int pe = 0; pe < n_pes(); ++pe) {
    shmem_uint64_get(dest.data(), source, dest.size(), pe);
    expect_filled("get", dest.data(), dest.size(), pe);
    EXPECT_EQ(shmem_uint64_g(&source[999], pe), sample<uint64_t>(seed_of(pe, 999)));
  }
}

TEST(Rma, S18_NullWithLengthZeroDoesNothing) {
  SymmetricArray<long> target(1);
  target[0] = 5;
  shmem_barrier_all();
  for_each_rma([&](const auto& row) {
    for (int pe = 0; pe < n_pes(); ++pe) {
      row.put(nullptr, nullptr, 0, pe);
      row.get(nullptr, nullptr, 0, pe);
      row.put_nbi(nullptr, nullptr, 0, pe);
      row.get_nbi(nullptr, nullptr, 0, pe);
    }
  });
  const long other = 9;
  shmem_long_put(target, &other, 0, next_pe());
  shmem_putmem(target, &other, 0, next_pe());
  shmem_barrier_all();
  EXPECT_EQ(target[0], 5);
}

// Lengths and offsets around the sizes of words, for a copy that handles heads and tails apart.
TEST(PutMem, S19_TakesAnyByteOffset) {
  constexpr size_t kSpan = 128;
  SymmetricArray<char> heap(kSpan);
  std::vector<char> source(kSpan);
  int round = 0;
  for (size_t offset : {0, 1, 3, 5, 7, 9, 15}) {
    for (size_t n : {1, 2, 5, 8, 15, 17, 31, 64}) {
      fill(heap.data(), kSpan, my_pe(), kOld);
      const size_t start = (offset * 5) % 8;
      fill(&source[start], n, my_pe(), ++round);
      shmem_barrier_all();
      if (round % 2 == 0) {
        shmem_putmem(&heap[offset], &source[start], n, next_pe());
      } else {
        shmem_putmem_nbi(&heap[offset], &source[start], n, next_pe());
      }
      shmem_barrier_all();
      expect_filled("putmem", &heap[offset], n, previous_pe(), round);
      expect_filled("before", heap.data(), offset, my_pe(), kOld);
      EXPECT_EQ(heap[offset + n], sample<char>(seed_of(my_pe(), offset + n, kOld)));
    }
  }
}

TEST(GetMem, S19_TakesAnyByteOffset) {
  constexpr size_t kSpan = 128;
  SymmetricArray<char> heap(kSpan);
  fill(heap.data(), kSpan, my_pe());
  shmem_barrier_all();
  for (size_t offset : {0, 1, 3, 5, 7, 9, 15}) {
    for (size_t n : {1, 2, 5, 8, 15, 17, 31, 64}) {
      std::vector<char> dest(kSpan, 'x');
      const size_t start = 1 + (offset * 5) % 8;
      if (n % 4 == 1) {
        shmem_getmem_nbi(&dest[start], &heap[offset], n, next_pe());
        shmem_quiet();
      } else {
        shmem_getmem(&dest[start], &heap[offset], n, next_pe());
      }
      expect_each("getmem", &dest[start], n,
                  [=](size_t i) { return sample<char>(seed_of(next_pe(), offset + i)); });
      EXPECT_EQ(dest[start - 1], 'x');
      EXPECT_EQ(dest[start + n], 'x');
    }
  }
}

TEST(Put, CopiesMegabytes) {
  constexpr size_t kLarge = (3u << 20) / sizeof(uint64_t) + 5;
  SymmetricArray<uint64_t> heap(kLarge);
  std::vector<uint64_t> local(kLarge);
  fill(local.data(), kLarge, my_pe());
  shmem_uint64_put(heap, local.data(), kLarge, next_pe());
  shmem_barrier_all();
  expect_filled("large put", heap.data(), kLarge, previous_pe());
  std::fill(local.begin(), local.end(), 0);
  shmem_uint64_get(local.data(), heap, kLarge, next_pe());
  expect_filled("large get", local.data(), kLarge, my_pe());
}

template <typename E>
std::vector<E> edge_values() {
  std::vector<E> values = {sample<E>(1), E(0), E(1)};
  values.push_back(std::numeric_limits<E>::max());
  values.push_back(std::numeric_limits<E>::lowest());
  if constexpr (std::is_signed_v<E>) values.push_back(static_cast<E>(-1));
  if constexpr (sizeof(E) == 8 && std::is_integral_v<E>) values.push_back(E(1) << 33);
  if constexpr (sizeof(E) > 8) values.push_back(E(1) + std::numeric_limits<E>::epsilon());
  return values;
}

TEST(PAndG, CarryEveryValueOfEveryType) {
  for_each_single([](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    const std::vector<E> values = edge_values<E>();
    SymmetricArray<E> heap(values.size());
    for (size_t i = 0; i < values.size(); ++i) row.p(&heap[i], values[i], next_pe());
    shmem_barrier_all();
    expect_each("p", heap.data(), values.size(), [&](size_t i) { return values[i]; });
    for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(row.g(&heap[i], next_pe()), values[i]);
  });
}

// NaNs and negative zeros arrive bit by bit, by every way that could load them as numbers.
TEST(Rma, KeepsTheBitsOfFloatingPointPatterns) {
  for_each_single([](const auto& row) {
    using E = typename std::decay_t<decltype(row)>::Element;
    if constexpr (std::is_floating_point_v<E>) {
      SCOPED_TRACE(row.type);
      SymmetricArray<E> heap(kPatterns);
      E source[kPatterns], dest[kPatterns];
      fill_patterns(source);
      for (size_t i = 0; i < kPatterns; ++i) row.p(&heap[i], source[i], next_pe());
      shmem_barrier_all();
      expect_patterns("p", heap.data());
      for (size_t i = 0; i < kPatterns; ++i) dest[i] = row.g(&heap[i], next_pe());
      expect_patterns("g", dest);
    }
  });
  for_each_typed_rma([](const auto& row) {
    using E = typename std::decay_t<decltype(row)>::Element;
    if constexpr (!std::is_integral_v<E>) {
      SCOPED_TRACE(row.type);
      SymmetricArray<E> heap(kPatterns);
      E local[kPatterns];
      fill_patterns(local);
      row.put(heap, local, kPatterns, next_pe());
      shmem_barrier_all();
      expect_patterns("put", heap.data());
      std::memset(static_cast<void*>(local), 0, sizeof local);
      row.get_nbi(local, heap, kPatterns, next_pe());
      shmem_quiet();
      expect_patterns("get_nbi", local);
    }
  });
}

TEST(PAndG, S9_ReachStaticVariables) {
  for_each_single([](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    E* variable = as<E>(static_dest);
    variable[0] = variable[1] = variable[2] = E(0);
    shmem_barrier_all();
    row.p(variable + 1, sample<E>(seed_of(my_pe(), 3)), next_pe());
    shmem_barrier_all();
    EXPECT_EQ(variable[0], E(0));
    EXPECT_EQ(variable[1], sample<E>(seed_of(previous_pe(), 3)));
    EXPECT_EQ(variable[2], E(0));
    EXPECT_EQ(row.g(variable + 1, next_pe()), sample<E>(seed_of(my_pe(), 3)));
    shmem_barrier_all();
  });
}

// The overloads of C++ lead to the same routines.
TEST(Overloads, CallTheTypedRoutines) {
  SymmetricArray<double> heap(4);
  const double source[3] = {1.5, -2.25, 1e300};
  shmem_put(heap.data(), source, 3, next_pe());
  shmem_p(&heap[3], static_cast<double>(my_pe()), next_pe());
  shmem_barrier_all();
  double dest[3] = {};
  shmem_get(dest, heap.data(), 3, next_pe());
  expect_each("get", dest, 3, [&](size_t i) { return source[i]; });
  EXPECT_EQ(shmem_g(&heap[3], next_pe()), my_pe());
}

}  // namespace
}  // namespace meshmem
