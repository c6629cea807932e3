// SPDX-License-Identifier: Apache-2.0
//
// A type and an operation as kernels reduce them: also of half and bfloat16, and averages.
// Invariant: kernels only; where `combine` is null the host has no such type.
// Read by api/on_stream.cpp.
#ifndef MESHMEM_COLLECTIVES_DEVICE_KERNEL_REDUCTION_HPP_
#define MESHMEM_COLLECTIVES_DEVICE_KERNEL_REDUCTION_HPP_

#include <type_traits>

#include "collectives/combine.hpp"

namespace meshmem {

// The element types that hosts do not have.
struct Half {};
struct Bfloat16 {};

template <typename Op, typename E>
constexpr Reduction kernel_reduction() {
  if constexpr (std::is_same_v<E, Half> || std::is_same_v<E, Bfloat16>) {
    return {
        .combine = nullptr,
        .elem_bytes = 2,
        .kernel_op = Op::kKernelOp,
        .kernel_type = std::is_same_v<E, Half> ? device::ElemType::f16 : device::ElemType::bf16};
  } else {
    return reduction<Op, E>();
  }
}
template <typename E>
constexpr Reduction kernel_average() {
  Reduction result = kernel_reduction<Sum, E>();
  result.kernel_op = device::ReduceOp::avg;
  return result;
}

}  // namespace meshmem

#endif  // MESHMEM_COLLECTIVES_DEVICE_KERNEL_REDUCTION_HPP_
