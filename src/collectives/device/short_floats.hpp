// SPDX-License-Identifier: Apache-2.0
//
// half and bfloat16 as bits, for reductions of them, since the C++ of the host has no such types.
// Invariant: arithmetic is that of float, and rounding is that of the cpu target's kernels: to
// nearest, ties to even, as GPUs do it.
// Used by command.cpp and by api/on_stream.cpp.
#ifndef MESHMEM_COLLECTIVES_DEVICE_SHORT_FLOATS_HPP_
#define MESHMEM_COLLECTIVES_DEVICE_SHORT_FLOATS_HPP_

#include "device/hip_on_cpu/hip/on_cpu/short_floats.h"
#include "device/operations.hpp"

namespace meshmem {

using Half = hip_on_cpu::ShortFloat<10, 5>;
using Bfloat16 = hip_on_cpu::ShortFloat<7, 8>;

namespace device {

template <>
constexpr ElemType elem_type_of<Half>() {
  return ElemType::f16;
}
template <>
constexpr ElemType elem_type_of<Bfloat16>() {
  return ElemType::bf16;
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_COLLECTIVES_DEVICE_SHORT_FLOATS_HPP_
