// SPDX-License-Identifier: Apache-2.0
//
// The arguments of untyped launches: element types and operations, as numbers that host and device
// code share.
// Invariant: an element type is derived from the C type, never written by hand.
#ifndef MESHMEM_DEVICE_OPERATIONS_HPP_
#define MESHMEM_DEVICE_OPERATIONS_HPP_

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace meshmem {
namespace device {

// i32_at and so on: a value of that type and its index beside it (device/located.hpp). maxloc and
// minloc are max and min of these.
enum class ElemType {
  i8,
  u8,
  i16,
  u16,
  i32,
  u32,
  i64,
  u64,
  f32,
  f64,
  f16,
  bf16,
  i32_at,
  u32_at,
  i64_at,
  u64_at,
  f32_at,
  f64_at,
  none
};

template <typename E>
constexpr ElemType elem_type_of() {
  if (std::is_floating_point<E>::value)
    return sizeof(E) == 4 ? ElemType::f32 : sizeof(E) == 8 ? ElemType::f64 : ElemType::none;
  if (!std::is_integral<E>::value) return ElemType::none;
  const bool is_signed = std::is_signed<E>::value;
  return sizeof(E) == 1   ? (is_signed ? ElemType::i8 : ElemType::u8)
         : sizeof(E) == 2 ? (is_signed ? ElemType::i16 : ElemType::u16)
         : sizeof(E) == 4 ? (is_signed ? ElemType::i32 : ElemType::u32)
         : sizeof(E) == 8 ? (is_signed ? ElemType::i64 : ElemType::u64)
                          : ElemType::none;
}

// The operations from bit_and on are for integers. avg is a sum that is divided at the end.
enum class ReduceOp { sum, prod, min, max, avg, bit_and, bit_or, bit_xor };

// The collectives, those that move data before those that combine it; sync stands for barriers too.
enum class CollectiveKind {
  sync,
  broadcast,
  collect,
  fcollect,
  alltoall,
  alltoalls,
  alltoallv,
  reduce,
  reduce_scatter,
  inscan,
  exscan
};

// Arrays with a number of elements for each PE of the team. The kernel reads them when it runs.
struct BlocksInArrays {
  const std::size_t *nelems, *displs;
};

// The arguments of an alltoallv in a kernel or on a stream.
struct Alltoallv {
  void* dest;
  BlocksInArrays to;
  const void* source;
  BlocksInArrays from;
  std::size_t elem_bytes;
};

enum class AtomicOp { fetch, set, swap, compare_swap, add, bit_and, bit_or, bit_xor };

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_OPERATIONS_HPP_
