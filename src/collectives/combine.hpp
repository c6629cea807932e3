// SPDX-License-Identifier: Apache-2.0
//
// The inner loops of reductions: one function for each operation and representation.
// Invariant: a representation follows from the C type (its size, sign and kind), so all C types of
// one representation share a loop. Max and min keep the sign, so signed elements never get the
// order of unsigned ones. Sums and products of integers wrap. Called through Reduction.
#ifndef MESHMEM_COLLECTIVES_COMBINE_HPP_
#define MESHMEM_COLLECTIVES_COMBINE_HPP_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

#include "collectives/reduction.hpp"
#include "device/located.hpp"
#include "shmem.h"

namespace meshmem {

// The unsigned integer of this many bytes.
template <std::size_t bytes>
using UnsignedOf = std::conditional_t<
    bytes == 1, std::uint8_t,
    std::conditional_t<bytes == 2, std::uint16_t,
                       std::conditional_t<bytes == 4, std::uint32_t, std::uint64_t>>>;

// A value of the type in which elements of T are combined: a fixed-width integer of its size, or T
// itself.
template <typename T, bool keep_sign>
constexpr auto representation_of() {
  if constexpr (!std::is_integral_v<T>) {
    return T{};
  } else if constexpr (keep_sign && std::is_signed_v<T>) {
    return std::make_signed_t<UnsignedOf<sizeof(T)>>{};
  } else {
    return UnsignedOf<sizeof(T)>{};
  }
}

// Sums, products and bits do not depend on the sign; only order does.
template <typename Operator, device::ReduceOp op>
struct Unordered {
  static constexpr bool kNeedsSign = false;
  static constexpr auto kKernelOp = op;
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(Operator{}(a, b));
  }
};
using Sum = Unordered<std::plus<>, device::ReduceOp::sum>;
using And = Unordered<std::bit_and<>, device::ReduceOp::bit_and>;
using Or = Unordered<std::bit_or<>, device::ReduceOp::bit_or>;
using Xor = Unordered<std::bit_xor<>, device::ReduceOp::bit_xor>;
struct Product {
  static constexpr bool kNeedsSign = false;
  static constexpr auto kKernelOp = device::ReduceOp::prod;
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T> && sizeof(T) < sizeof(int)) {
      return static_cast<T>(static_cast<unsigned>(a) *
                            static_cast<unsigned>(b));  // not as int, which could overflow
    } else {
      return static_cast<T>(a * b);
    }
  }
};
struct Max {
  static constexpr bool kNeedsSign = true;
  static constexpr auto kKernelOp = device::ReduceOp::max;
  template <typename T>
  static T apply(T a, T b) {
    return a < b ? b : a;
  }
};
struct Min {
  static constexpr bool kNeedsSign = true;
  static constexpr auto kKernelOp = device::ReduceOp::min;
  template <typename T>
  static T apply(T a, T b) {
    return b < a ? b : a;
  }
};

// Element i of an array that may begin at any byte. It compiles to the same code as elems[i].
template <typename T>
T load_element(const void* elems, std::size_t i) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(elems) + i * sizeof(T), sizeof(T));
  return value;
}

template <typename Op, typename T>
void combine(void* dest, const void* a, const void* b, std::size_t count) {
  auto* to = static_cast<T*>(dest);
  for (std::size_t i = 0; i < count; ++i)
    to[i] = Op::apply(load_element<T>(a, i), load_element<T>(b, i));
}

template <typename Op, typename T>
constexpr Reduction reduction() {
  using Representation = decltype(representation_of<T, Op::kNeedsSign>());
  return {&combine<Op, Representation>, sizeof(T), Op::kKernelOp, device::elem_type_of<T>()};
}

template <typename Representation>
void divide(void* elems, std::size_t count, int n) {
  auto* to = static_cast<Representation*>(elems);
  const auto divisor = static_cast<decltype(*to + *to)>(n);
  for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<Representation>(to[i] / divisor);
}

// The sum, which wraps, is divided once, at the end: as a signed number if T has a sign, toward
// zero if T is an integer.
template <typename T>
constexpr Reduction average() {
  Reduction result = reduction<Sum, T>();
  result.kernel_op = device::ReduceOp::avg;
  result.finish = &divide<decltype(representation_of<T, true>())>;
  return result;
}

// A value with its index: `op` is max or min.
template <device::ReduceOp op, typename T>
void combine_located(void* dest, const void* a, const void* b, std::size_t count) {
  using Type = device::LocatedOf<T>;
  using Element = device::Located<typename Type::Bits>;
  constexpr device::LocatedOrder kOrder{Type::kType, op};
  auto* to = static_cast<Element*>(dest);
  for (std::size_t i = 0; i < count; ++i) {
    const auto left = load_element<Element>(a, i), right = load_element<Element>(b, i);
    to[i] = kOrder.takes(right, left) ? right : left;
  }
}
template <device::ReduceOp op, typename T>
constexpr Reduction located_reduction() {
  return {&combine_located<op, T>, 2 * sizeof(T), op, device::LocatedOf<T>::kType};
}

// The reductions and scans of elements E: ROW(name, kind, reduction) for each.
#define MESHMEM_COMBINING(ROW)                                                                 \
  MESHMEM_COMBINING_BOTH(ROW, and, (reduction<And, E>()))                                      \
  MESHMEM_COMBINING_BOTH(ROW, or, (reduction<Or, E>()))                                        \
  MESHMEM_COMBINING_BOTH(ROW, xor, (reduction<Xor, E>()))                                      \
  MESHMEM_COMBINING_BOTH(ROW, max, (reduction<Max, E>()))                                      \
  MESHMEM_COMBINING_BOTH(ROW, min, (reduction<Min, E>()))                                      \
  MESHMEM_COMBINING_BOTH(ROW, sum, (reduction<Sum, E>()))                                      \
  MESHMEM_COMBINING_BOTH(ROW, prod, (reduction<Product, E>()))                                 \
  MESHMEM_COMBINING_BOTH(ROW, avg, (average<E>()))                                             \
  ROW(maxloc_reduce, reduce, (located_reduction<device::ReduceOp::max, decltype(E::value)>())) \
  ROW(minloc_reduce, reduce, (located_reduction<device::ReduceOp::min, decltype(E::value)>())) \
  ROW(sum_inscan, inscan, (reduction<Sum, E>()))                                               \
  ROW(sum_exscan, exscan, (reduction<Sum, E>()))
#define MESHMEM_COMBINING_BOTH(ROW, name, op) \
  ROW(name##_reduce, reduce, op) ROW(name##_reduce_scatter, reduce_scatter, op)

}  // namespace meshmem

#endif  // MESHMEM_COLLECTIVES_COMBINE_HPP_
