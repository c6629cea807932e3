// SPDX-License-Identifier: Apache-2.0
//
// Point-to-point synchronization: the wait_until and test families in all forms, for every type.
// Invariant: the waits made here are satisfied already; waits_test.cpp has those that another PE
// satisfies.
#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include "comparison_model.hpp"
#include "symmetric_array.hpp"
#include "typed_routines.hpp"

namespace meshmem {
namespace {

constexpr size_t kElems = 6;

uint64_t static_ivars[kElems];

// Small, large, with the top bit, beyond 32 bits.
template <typename E>
std::vector<E> edge_values() {
  constexpr int kBits = static_cast<int>(8 * sizeof(E));
  return {E(0),
          E(1),
          static_cast<E>(~E(0)),
          std::numeric_limits<E>::max(),
          static_cast<E>(uint64_t{1} << (kBits - 1)),
          static_cast<E>(uint64_t{5} << (kBits - 8))};
}

// The indices that a call should find: not masked, and satisfying the comparison.
template <typename E>
std::set<size_t> satisfied(const E* ivars, const int* status, int cmp, const E* values) {
  std::set<size_t> found;
  for (size_t i = 0; i < kElems; ++i) {
    if ((!status || !status[i]) && compare(ivars[i], cmp, values[i])) found.insert(i);
  }
  return found;
}

template <typename E>
struct Case {
  E* ivars;
  const int* status;
  int cmp;
  std::vector<E> values;  // one an ivar
  std::set<size_t> expected;
  bool empty;  // all are masked
  bool all;    // all that are not masked satisfy it
};

template <typename E>
Case<E> make_case(E* ivars, const std::vector<int>* mask, int cmp, const std::vector<E>& values) {
  const int* status = mask ? mask->data() : nullptr;
  const size_t taken =
      mask ? static_cast<size_t>(std::count(mask->begin(), mask->end(), 0)) : kElems;
  std::set<size_t> expected = satisfied(ivars, status, cmp, values.data());
  return {ivars, status, cmp, values, expected, taken == 0, expected.size() == taken};
}

// `count` indices were returned: some of the expected ones, each once. 0 is right only if none is
// expected.
void expect_some(size_t count, const std::vector<size_t>& indices,
                 const std::set<size_t>& expected) {
  ASSERT_LE(count, kElems);
  std::set<size_t> found(indices.begin(), indices.begin() + static_cast<ptrdiff_t>(count));
  EXPECT_EQ(found.size(), count) << "an index was returned twice";
  EXPECT_EQ(found, expected);
}

void expect_any(size_t index, const std::set<size_t>& expected) {
  if (expected.empty()) {
    EXPECT_EQ(index, SIZE_MAX);
  } else {
    EXPECT_EQ(expected.count(index), 1u) << "index " << index;
  }
}

template <typename Row, typename E>
void check_tests(const Row& row, const Case<E>& c) {
  std::vector<size_t> indices(kElems, 99);
  const E value = c.values[0];
  EXPECT_EQ(row.test_all(c.ivars, kElems, c.status, c.cmp, value), c.all ? 1 : 0);
  expect_any(row.test_any(c.ivars, kElems, c.status, c.cmp, value), c.expected);
  expect_some(row.test_some(c.ivars, kElems, indices.data(), c.status, c.cmp, value), indices,
              c.expected);
}

template <typename Row, typename E>
void check_vector_tests(const Row& row, const Case<E>& c) {
  std::vector<size_t> indices(kElems, 99);
  const E* values = c.values.data();
  EXPECT_EQ(row.test_all_vector(c.ivars, kElems, c.status, c.cmp, values), c.all ? 1 : 0);
  expect_any(row.test_any_vector(c.ivars, kElems, c.status, c.cmp, values), c.expected);
  expect_some(row.test_some_vector(c.ivars, kElems, indices.data(), c.status, c.cmp, values),
              indices, c.expected);
}

// The waits that return at once in this state.
template <typename Row, typename E>
void check_waits(const Row& row, const Case<E>& c) {
  std::vector<size_t> indices(kElems, 99);
  const E value = c.values[0];
  if (c.all) row.wait_until_all(c.ivars, kElems, c.status, c.cmp, value);
  if (c.expected.empty() && !c.empty) return;
  expect_any(row.wait_until_any(c.ivars, kElems, c.status, c.cmp, value), c.expected);
  expect_some(row.wait_until_some(c.ivars, kElems, indices.data(), c.status, c.cmp, value), indices,
              c.expected);
}

template <typename Row, typename E>
void check_vector_waits(const Row& row, const Case<E>& c) {
  std::vector<size_t> indices(kElems, 99);
  const E* values = c.values.data();
  if (c.all) row.wait_until_all_vector(c.ivars, kElems, c.status, c.cmp, values);
  if (c.expected.empty() && !c.empty) return;
  expect_any(row.wait_until_any_vector(c.ivars, kElems, c.status, c.cmp, values), c.expected);
  expect_some(row.wait_until_some_vector(c.ivars, kElems, indices.data(), c.status, c.cmp, values),
              indices, c.expected);
}

// Masks: none, all in, one in, one out, and all out; any nonzero value masks.
const std::vector<int> kMasks[] = {{0, 0, 0, 0, 0, 0},
                                   {1, 1, 1, 0, 1, 1},
                                   {0, -1, 0, 0, 0, 0},
                                   {256, 0, 7, 0, 1, 0},
                                   {1, 2, 3, -4, 1 << 30, 1}};

template <typename Row, typename E>
void check_all_forms(const Row& row, E* ivars, const std::vector<int>* mask, int cmp) {
  std::vector<E> values = edge_values<E>();
  for (size_t i = 0; i < kElems; ++i) {
    const Case<E> uniform = make_case(ivars, mask, cmp, std::vector<E>(kElems, values[i]));
    check_tests(row, uniform);
    check_waits(row, uniform);
    std::rotate(values.begin(), values.begin() + 1, values.end());
    const Case<E> each = make_case(ivars, mask, cmp, values);
    check_vector_tests(row, each);
    check_vector_waits(row, each);
  }
}

TEST(Test, S50_ReturnsOneOrZeroForEveryComparison) {
  for_each_wait([](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    SymmetricArray<E> ivar(1);
    for (E a : edge_values<E>()) {
      for (E b : edge_values<E>()) {
        for (int cmp : kComparisons) {
          ivar[0] = a;
          EXPECT_EQ(row.test(ivar, cmp, b), compare(a, cmp, b) ? 1 : 0)
              << a << " " << cmp << " " << b;
          if (compare(a, cmp, b)) row.wait_until(ivar, cmp, b);
        }
      }
    }
  });
}

TEST(TestAndWait, S46_S49_AnswerAsTheModelForEveryMask) {
  for_each_wait([](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    SymmetricArray<E> heap(kElems);
    for (E* ivars : {heap.data(), reinterpret_cast<E*>(static_ivars)}) {
      const std::vector<E> values = edge_values<E>();
      std::copy(values.begin(), values.end(), ivars);
      for (int cmp : kComparisons) {
        check_all_forms(row, ivars, nullptr, cmp);
        for (const auto& mask : kMasks) check_all_forms(row, ivars, &mask, cmp);
      }
    }
  });
}

TEST(TestAndWait, S46_StatusIsNotWritten) {
  for_each_wait([](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    SymmetricArray<E> ivars(kElems);
    std::fill(ivars.data(), ivars.data() + kElems, E(1));
    for (const auto& mask : kMasks) {
      std::vector<int> status = mask;
      check_all_forms(row, ivars.data(), &status, SHMEM_CMP_GE);
      EXPECT_EQ(status, mask);
    }
  });
}

TEST(TestAndWait, S47_TheEmptySetIsAnswered) {
  for_each_wait([](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    SymmetricArray<E> ivars(kElems);
    std::fill(ivars.data(), ivars.data() + kElems, E(0));
    const std::vector<int> out(kElems, 1);
    const std::vector<E> values(kElems, E(1));
    size_t unused = 99;
    for (size_t n : {size_t{0}, kElems}) {  // no elements, or all of them masked
      const int* status = n == 0 ? nullptr : out.data();
      E* set = n == 0 ? nullptr : ivars.data();
      const E* each = n == 0 ? nullptr : values.data();
      size_t* found = n == 0 ? nullptr : &unused;
      row.wait_until_all(set, n, status, SHMEM_CMP_EQ, E(1));
      row.wait_until_all_vector(set, n, status, SHMEM_CMP_EQ, each);
      EXPECT_EQ(row.wait_until_any(set, n, status, SHMEM_CMP_EQ, E(1)), SIZE_MAX);
      EXPECT_EQ(row.wait_until_any_vector(set, n, status, SHMEM_CMP_EQ, each), SIZE_MAX);
      EXPECT_EQ(row.wait_until_some(set, n, found, status, SHMEM_CMP_EQ, E(1)), 0u);
      EXPECT_EQ(row.wait_until_some_vector(set, n, found, status, SHMEM_CMP_EQ, each), 0u);
      EXPECT_EQ(row.test_all(set, n, status, SHMEM_CMP_EQ, E(1)), 1);
      EXPECT_EQ(row.test_all_vector(set, n, status, SHMEM_CMP_EQ, each), 1);
      EXPECT_EQ(row.test_any(set, n, status, SHMEM_CMP_EQ, E(1)), SIZE_MAX);
      EXPECT_EQ(row.test_any_vector(set, n, status, SHMEM_CMP_EQ, each), SIZE_MAX);
      EXPECT_EQ(row.test_some(set, n, found, status, SHMEM_CMP_EQ, E(1)), 0u);
      EXPECT_EQ(row.test_some_vector(set, n, found, status, SHMEM_CMP_EQ, each), 0u);
    }
    EXPECT_EQ(unused, 99u) << "an index was written for the empty set";
  });
}

// How many calls of `any` it takes until each of the satisfied indices was returned.
template <typename Any>
size_t calls_until_all_are_seen(const Any& any) {
  std::set<size_t> seen;
  size_t calls = 0;
  for (; calls < 1000 && seen.size() < kElems - 1; ++calls) seen.insert(any());
  EXPECT_EQ(seen.count(2), 0u) << "an index that is not satisfied";
  return calls;
}

TEST(TestAndWait, S48_AnyIsFair) {
  for_each_wait([](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    SymmetricArray<E> ivars(kElems);
    std::fill(ivars.data(), ivars.data() + kElems, E(1));
    ivars[2] = E(0);
    const std::vector<E> ones(kElems, E(1));
    auto wait = [&] { return row.wait_until_any(ivars, kElems, nullptr, SHMEM_CMP_EQ, E(1)); };
    auto test = [&] { return row.test_any(ivars, kElems, nullptr, SHMEM_CMP_EQ, E(1)); };
    auto wait_vector = [&] {
      return row.wait_until_any_vector(ivars, kElems, nullptr, SHMEM_CMP_EQ, ones.data());
    };
    auto test_vector = [&] {
      return row.test_any_vector(ivars, kElems, nullptr, SHMEM_CMP_EQ, ones.data());
    };
    EXPECT_LT(calls_until_all_are_seen(wait), 1000u);
    EXPECT_LT(calls_until_all_are_seen(test), 1000u);
    EXPECT_LT(calls_until_all_are_seen(wait_vector), 1000u);
    EXPECT_LT(calls_until_all_are_seen(test_vector), 1000u);
    auto wait_between_searches_of_another_set = [&] {
      row.test_any(ivars, 1, nullptr, SHMEM_CMP_EQ, E(1));
      return wait();
    };
    EXPECT_LT(calls_until_all_are_seen(wait_between_searches_of_another_set), 1000u);
  });
}

}  // namespace
}  // namespace meshmem
