// SPDX-License-Identifier: Apache-2.0
//
// A serial model of the reductions: what a PE brings, and what all of it combines to.
// Invariant: values are chosen so that the exact result does not depend on the order of
// combination: integers wrap, floating-point sums and products stay small and exact. Values repeat
// with a prime period, so that the model of a long array is short. Used by reductions_test.cpp and
// scans_test.cpp.
#ifndef MESHMEM_TESTS_API_REDUCTION_MODEL_HPP
#define MESHMEM_TESTS_API_REDUCTION_MODEL_HPP

#include <algorithm>
#include <vector>

#include "symmetric_array.hpp"
#include "team_views.hpp"

namespace meshmem {

enum class Op { kSum, kProd, kMax, kMin, kAnd, kOr, kXor, kAvg };

constexpr size_t kPeriod = 61;

// An exact factor: 1, -2, 0.5, -1, ...; of complex numbers a power of i times that.
template <typename E>
E factor(uint64_t bits) {
  const double values[] = {1, -2, 0.5, -1};
  const double real = values[bits % 4];
  if constexpr (is_complex<E>) {
    return bits % 8 < 4 ? make_complex<E>(real, 0) : make_complex<E>(0, real);
  } else {
    return static_cast<E>(real);
  }
}

// Element i of what a PE brings to an operation.
template <typename E>
E contribution(Op op, int pe, size_t i) {
  const uint64_t seed = seed_of(pe, i % kPeriod, static_cast<int>(op));
  if constexpr (std::is_integral_v<E>) {
    return sample<E>(seed);
  } else {
    const uint64_t bits = scramble(seed);
    if (op == Op::kProd) return factor<E>(bits);
    const double small = static_cast<double>(bits % 2001) - 1000;
    if constexpr (is_complex<E>) {
      return make_complex<E>(small, static_cast<double>(bits / 2001 % 2001) - 1000);
    } else {
      return op == Op::kSum || op == Op::kAvg ? static_cast<E>(small / 4) : sample<E>(seed);
    }
  }
}

template <typename E>
E combine_integers(Op op, E a, E b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (op) {
    case Op::kSum:
    case Op::kAvg:
      return static_cast<E>(x + y);
    case Op::kProd:
      return static_cast<E>(x * y);
    case Op::kAnd:
      return static_cast<E>(x & y);
    case Op::kOr:
      return static_cast<E>(x | y);
    case Op::kXor:
      return static_cast<E>(x ^ y);
    default:
      return op == Op::kMax ? std::max(a, b) : std::min(a, b);
  }
}

template <typename E>
E combine(Op op, E a, E b) {
  if constexpr (std::is_integral_v<E>) {
    return combine_integers(op, a, b);
  } else {
    if (op == Op::kSum || op == Op::kAvg) return a + b;
    if (op == Op::kProd) return a * b;
    if constexpr (!is_complex<E>) return op == Op::kMax ? std::max(a, b) : std::min(a, b);
    return a;
  }
}

// An average is the sum, divided at the end.
template <typename E>
E finish(Op op, E total, size_t n) {
  if constexpr (is_complex<E>) {
    return total;
  } else {
    return op == Op::kAvg ? static_cast<E>(total / static_cast<E>(n)) : total;
  }
}

// The first period of the combination of the team's PEs 0 to last, each of which brings(op, pe, i).
template <typename E, typename Brings>
std::vector<E> model_of(Op op, const TeamView& view, size_t last, const Brings& brings) {
  std::vector<E> result(kPeriod);
  for (size_t i = 0; i < kPeriod; ++i) {
    result[i] = brings(op, view.world(0), i);
    for (size_t pe = 1; pe <= last; ++pe)
      result[i] = combine<E>(op, result[i], brings(op, view.world(pe), i));
    result[i] = finish(op, result[i], last + 1);
  }
  return result;
}
template <typename E>
std::vector<E> model(Op op, const TeamView& view, size_t last) {
  return model_of<E>(op, view, last, contribution<E>);
}

// The n elements that the calling PE brings.
template <typename E>
void contribute(Op op, E* data, size_t n) {
  for (size_t i = 0; i < std::min(n, kPeriod); ++i) data[i] = contribution<E>(op, my_pe(), i);
  for (size_t i = kPeriod; i < n; ++i) data[i] = data[i - kPeriod];
}

template <typename E>
void expect_model(const char* what, const E* data, size_t n, const std::vector<E>& period) {
  expect_each(what, data, n, [&](size_t i) { return period[i % kPeriod]; });
}

}  // namespace meshmem

#endif
