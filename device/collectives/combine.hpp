// SPDX-License-Identifier: Apache-2.0
//
// How a reduction combines two elements, and how elements travel in units of 8 bytes.
// Invariant: signed integers wrap, as unsigned ones do. If one of two floating-point elements is a
// NaN, max and min keep the first. The algorithms decide in which order elements are combined.
#ifndef MESHMEM_DEVICE_COLLECTIVES_COMBINE_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_COMBINE_HPP_

#include <type_traits>

#include "device/group.hpp"
#include "device/memory.hpp"
#include "device/operations.hpp"

namespace meshmem {
namespace device {

// The type in which elements are added and multiplied: for integers the unsigned one of their size,
// so that they wrap; short ones as 32 bits.
template <typename E, bool is_integer = std::is_integral<E>::value>
struct Arithmetic {
  using Type = E;
};
template <typename E>
struct Arithmetic<E, true> {
  using Type = std::conditional_t<(sizeof(E) < 4), std::uint32_t, std::make_unsigned_t<E>>;
};

template <ReduceOp op, typename E>
MESHMEM_DEVICE E combine(E a, E b) {
  using A = typename Arithmetic<E>::Type;
  if constexpr (op == ReduceOp::sum || op == ReduceOp::avg)
    return static_cast<E>(static_cast<A>(a) + static_cast<A>(b));
  if constexpr (op == ReduceOp::prod) return static_cast<E>(static_cast<A>(a) * static_cast<A>(b));
  if constexpr (op == ReduceOp::min) return b < a ? b : a;
  if constexpr (op == ReduceOp::max) return a < b ? b : a;
  if constexpr (op == ReduceOp::bit_and) return static_cast<E>(a & b);
  if constexpr (op == ReduceOp::bit_or) return static_cast<E>(a | b);
  if constexpr (op == ReduceOp::bit_xor) return static_cast<E>(a ^ b);
}

// Makes the result from the total of n PEs' elements: the quotient for an average (cut toward zero
// for integers), otherwise the total itself. Every algorithm ends with it.
template <ReduceOp op, typename E>
MESHMEM_DEVICE E finish(E total, int n) {
  if constexpr (op == ReduceOp::avg)
    return static_cast<E>(total / static_cast<decltype(total + total)>(n));
  else
    return total;
}

// An operation that is known at compile time. Algorithms get any operation as an argument, and
// combine a run of elements in with(f), which calls f with an operation that is known at compile
// time.
template <ReduceOp op>
struct StaticOp {
  static constexpr bool kIsStatic = true;
  template <typename T>
  MESHMEM_DEVICE_MEMBER static T combine(T a, T b) {
    return device::combine<op>(a, b);
  }
  template <typename T>
  MESHMEM_DEVICE_MEMBER static T finish(T total, int n) {
    return device::finish<op>(total, n);
  }
  template <typename F>
  MESHMEM_DEVICE_MEMBER void with(const F& f) const {
    f(*this);
  }
};

// The same for unsigned elements that stand for signed ones.
template <ReduceOp op>
struct StaticSignedOp {
  template <typename T>
  MESHMEM_DEVICE_MEMBER static T combine(T a, T b) {
    using S = std::make_signed_t<T>;
    return static_cast<T>(device::combine<op>(static_cast<S>(a), static_cast<S>(b)));
  }
  template <typename T>
  MESHMEM_DEVICE_MEMBER static T finish(T total, int n) {
    return static_cast<T>(device::finish<op>(static_cast<std::make_signed_t<T>>(total), n));
  }
};

// An operation that a kernel learns when it is launched, so that one kernel serves all operations
// except sum, and except avg of floating-point types. All threads of a grid branch alike, once for
// a run of elements. `E` is a floating-point type, or an unsigned one, which stands for the signed
// type too.
template <typename E>
struct RuntimeOp {
  static constexpr bool kIsStatic = false;
  ReduceOp op;
  bool is_signed;

  template <typename F>
  MESHMEM_DEVICE_MEMBER void with(const F& f) const {
    if constexpr (std::is_integral<E>::value) {
      switch (MESHMEM_OPAQUE(op)) {
        case ReduceOp::min:
          return MESHMEM_OPAQUE(int{is_signed}) != 0 ? f(StaticSignedOp<ReduceOp::min>())
                                                     : f(StaticOp<ReduceOp::min>());
        case ReduceOp::max:
          return MESHMEM_OPAQUE(int{is_signed}) != 0 ? f(StaticSignedOp<ReduceOp::max>())
                                                     : f(StaticOp<ReduceOp::max>());
        case ReduceOp::avg:
          return MESHMEM_OPAQUE(int{is_signed}) != 0 ? f(StaticSignedOp<ReduceOp::avg>())
                                                     : f(StaticOp<ReduceOp::avg>());
        case ReduceOp::bit_and:
          return f(StaticOp<ReduceOp::bit_and>());
        case ReduceOp::bit_or:
          return f(StaticOp<ReduceOp::bit_or>());
        case ReduceOp::bit_xor:
          return f(StaticOp<ReduceOp::bit_xor>());
        default:
          return f(StaticOp<ReduceOp::prod>());
      }
    } else {
      switch (MESHMEM_OPAQUE(op)) {
        case ReduceOp::min:
          return f(StaticOp<ReduceOp::min>());
        case ReduceOp::max:
          return f(StaticOp<ReduceOp::max>());
        default:
          return f(StaticOp<ReduceOp::prod>());
      }
    }
  }
};

// Elements that move in one access; a vector has the alignment of its size.
template <typename E, std::size_t bytes = 16>
struct alignas(bytes) Vector {
  static constexpr std::size_t kElems = bytes / sizeof(E);
  E elem[kElems];
};
// A unit: the elements that travel together, as many as fill 8 bytes.
template <typename E>
using EightBytes = Vector<E, 8>;

template <typename E>
MESHMEM_HOST_DEVICE std::size_t units_of(std::size_t count) {
  return (count + EightBytes<E>::kElems - 1) / EightBytes<E>::kElems;
}

// True if unit `u` of an array of `count` elements is whole, and aligned so that one access moves
// it.
template <typename E>
MESHMEM_DEVICE bool is_whole(const E* array, std::size_t count, std::size_t u) {
  return (u + 1) * EightBytes<E>::kElems <= count &&
         reinterpret_cast<std::uintptr_t>(array) % sizeof(EightBytes<E>) == 0;
}
// Unit `u` of an array of `count` elements; the last may be partly filled. Loads of single elements
// overlap.
template <typename E>
MESHMEM_DEVICE EightBytes<E> load_unit(const E* array, std::size_t count, std::size_t u) {
  const E* from = array + u * EightBytes<E>::kElems;
  if (is_whole(array, count, u)) return load_plain(reinterpret_cast<const EightBytes<E>*>(from));
  EightBytes<E> unit = bit_cast<EightBytes<E>>(std::uint64_t{0});
#pragma unroll
  for (std::size_t k = 0; k < EightBytes<E>::kElems; ++k)
    if (u * EightBytes<E>::kElems + k < count) unit.elem[k] = from[k];
  return unit;
}
template <typename E>
MESHMEM_DEVICE void store_unit(E* array, std::size_t count, std::size_t u,
                               const EightBytes<E>& unit) {
  E* to = array + u * EightBytes<E>::kElems;
  if (is_whole(array, count, u)) {
    store_plain(reinterpret_cast<EightBytes<E>*>(to), unit);
    return;
  }
#pragma unroll
  for (std::size_t k = 0; k < EightBytes<E>::kElems; ++k)
    if (u * EightBytes<E>::kElems + k < count) to[k] = unit.elem[k];
}

// The type in which elements of several PEs are combined before they are stored as E again: E
// itself, or float for the short floating-point types.
template <typename E>
struct Total {
  using Type = E;
  MESHMEM_DEVICE_MEMBER static E widen(E elem) { return elem; }
  MESHMEM_DEVICE_MEMBER static E round(E total) { return total; }
};
template <>
struct Total<meshmem_half> {
  using Type = float;
  MESHMEM_DEVICE_MEMBER static float widen(meshmem_half elem) { return __half2float(elem); }
  MESHMEM_DEVICE_MEMBER static meshmem_half round(float total) { return __float2half(total); }
};
template <>
struct Total<meshmem_bfloat16> {
  using Type = float;
  // On CUDA by functions, since a program may switch off the conversions
  // (__CUDA_NO_BFLOAT16_CONVERSIONS__).
#if defined(MESHMEM_TARGET_IS_CUDA)
  MESHMEM_DEVICE_MEMBER static float widen(meshmem_bfloat16 elem) { return __bfloat162float(elem); }
  MESHMEM_DEVICE_MEMBER static meshmem_bfloat16 round(float total) {
    return __float2bfloat16(total);
  }
#else
  MESHMEM_DEVICE_MEMBER static float widen(meshmem_bfloat16 elem) {
    return static_cast<float>(elem);
  }
  MESHMEM_DEVICE_MEMBER static meshmem_bfloat16 round(float total) {
    return meshmem_bfloat16(total);
  }
#endif
};

// Elements of several PEs combined, which are rounded to E only once.
template <typename E, std::size_t bytes>
struct VectorTotal {
  static constexpr std::size_t kElems = Vector<E, bytes>::kElems;
  typename Total<E>::Type elem[kElems];
};
template <typename E>
using UnitTotal = VectorTotal<E, 8>;

template <typename Op, typename E, std::size_t bytes>
MESHMEM_DEVICE void combine_into(const Op& op, VectorTotal<E, bytes>& total,
                                 const Vector<E, bytes>& other) {
  op.with([&](auto known) {
#pragma unroll
    for (std::size_t k = 0; k < total.kElems; ++k)
      total.elem[k] = known.combine(total.elem[k], Total<E>::widen(other.elem[k]));
  });
}
template <typename Op, typename E>
MESHMEM_DEVICE UnitTotal<E> combine_totals(const Op& op, const UnitTotal<E>& a,
                                           const UnitTotal<E>& b) {
  UnitTotal<E> total;
  op.with([&](auto known) {
#pragma unroll
    for (std::size_t k = 0; k < total.kElems; ++k)
      total.elem[k] = known.combine(a.elem[k], b.elem[k]);
  });
  return total;
}
template <typename E, std::size_t bytes>
MESHMEM_DEVICE void begin_total(VectorTotal<E, bytes>& total, const Vector<E, bytes>& first) {
#pragma unroll
  for (std::size_t k = 0; k < total.kElems; ++k) total.elem[k] = Total<E>::widen(first.elem[k]);
}
template <typename E, std::size_t bytes>
MESHMEM_DEVICE Vector<E, bytes> rounded(const VectorTotal<E, bytes>& total) {
  Vector<E, bytes> result;
#pragma unroll
  for (std::size_t k = 0; k < result.kElems; ++k) result.elem[k] = Total<E>::round(total.elem[k]);
  return result;
}
// The elements of the result, from a total that has those of all n PEs.
template <typename Op, typename E, std::size_t bytes>
MESHMEM_DEVICE Vector<E, bytes> finished(const Op& op, VectorTotal<E, bytes> total, int n) {
  op.with([&](auto known) {
#pragma unroll
    for (std::size_t k = 0; k < total.kElems; ++k) total.elem[k] = known.finish(total.elem[k], n);
  });
  return rounded(total);
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_COMBINE_HPP_
