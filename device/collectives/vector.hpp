// SPDX-License-Identifier: Apache-2.0
//
// Runs of elements that move in one access, and the totals in which they are combined.
// Invariant: a vector has the alignment of its size. Used by collectives of large data.
#ifndef MESHMEM_DEVICE_COLLECTIVES_VECTOR_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_VECTOR_HPP_

#include "device/collectives/combine.hpp"

namespace meshmem {
namespace device {

template <typename E, std::size_t bytes = 16>
struct alignas(bytes) Vector {
  static constexpr std::size_t kElems = bytes / sizeof(E);
  E elem[kElems];
};

// Elements of several PEs combined, rounded to E only once.
template <typename E, std::size_t elems>
struct VectorTotal {
  typename Total<E>::Type elem[elems];

  template <typename V>
  MESHMEM_DEVICE_MEMBER explicit VectorTotal(const V& vector) {
#pragma unroll
    for (std::size_t k = 0; k < elems; ++k) elem[k] = Total<E>::of(vector.elem[k]);
  }
  template <typename Op, typename V>
  MESHMEM_DEVICE_MEMBER void add(const Op& op, const V& vector) {
    op.with([&](auto known) {
#pragma unroll
      for (std::size_t k = 0; k < elems; ++k)
        elem[k] = known.combine(elem[k], Total<E>::of(vector.elem[k]));
    });
  }
  // Of what `n` PEs' elements make.
  template <typename V, typename Op>
  MESHMEM_DEVICE_MEMBER V rounded(const Op& op, int n) const {
    V result;
    op.with([&](auto known) {
#pragma unroll
      for (std::size_t k = 0; k < elems; ++k)
        result.elem[k] = Total<E>::rounded(known.finish(elem[k], n));
    });
    return result;
  }
};

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_VECTOR_HPP_
