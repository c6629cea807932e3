// SPDX-License-Identifier: Apache-2.0
//
// Which of two elements maxloc and minloc take: an element is a value with an index beside it.
// Invariant: one order of all elements, the same for host and kernels; of equal values the least
// index is first, and a NaN comes after every number. Elements of the same rank differ at most in
// the sign of a zero or the bits of a NaN.
#ifndef MESHMEM_DEVICE_LOCATED_HPP_
#define MESHMEM_DEVICE_LOCATED_HPP_

#include "device/operations.hpp"
#include "device/target.hpp"

namespace meshmem {
namespace device {

// U is the unsigned integer of the value's size.
template <typename U>
struct Located {
  U value, index;
};

template <typename Value>
struct LocatedOf {
  static constexpr bool kIsWide = sizeof(Value) == 8;
  using Bits = std::conditional_t<kIsWide, std::uint64_t, std::uint32_t>;
  static constexpr ElemType kType =
      std::is_floating_point<Value>::value ? (kIsWide ? ElemType::f64_at : ElemType::f32_at)
      : std::is_signed<Value>::value       ? (kIsWide ? ElemType::i64_at : ElemType::i32_at)
                                           : (kIsWide ? ElemType::u64_at : ElemType::u32_at);
};

MESHMEM_HOST_DEVICE bool is_located(ElemType type) {
  return type >= ElemType::i32_at && type <= ElemType::f64_at;
}

// The order of a type's elements for max or min.
struct LocatedOrder {
  ElemType type;
  ReduceOp op;

  // Whether `one` is taken and not `other`. False if both have the same rank.
  template <typename U>
  MESHMEM_HOST_DEVICE_MEMBER bool takes(const Located<U>& one, const Located<U>& other) const {
    using Index = std::make_signed_t<U>;
    const U key = key_of(one.value), other_key = key_of(other.value);
    if (key != other_key) return key > other_key;
    return static_cast<Index>(one.index) < static_cast<Index>(other.index);
  }

 private:
  // Greater for the element that is preferred.
  template <typename U>
  MESHMEM_HOST_DEVICE_MEMBER U key_of(U value) const {
    constexpr U kTop = U{1} << (8 * sizeof(U) - 1);
    constexpr U kInfinity =
        static_cast<U>(sizeof(U) == 8 ? std::uint64_t{0x7ff} << 52 : std::uint64_t{0xff} << 23);
    if (type == ElemType::f32_at || type == ElemType::f64_at) {
      const U magnitude = value & ~kTop;
      if (magnitude > kInfinity) return 0;  // less than infinity's key, of either sign
      value = magnitude == 0 ? kTop : (value & kTop) != 0 ? ~value : value | kTop;
    } else if (type == ElemType::i32_at || type == ElemType::i64_at) {
      value ^= kTop;
    }
    return op == ReduceOp::max ? value : ~value;
  }
};

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_LOCATED_HPP_
