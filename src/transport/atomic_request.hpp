// SPDX-License-Identifier: Apache-2.0
//
// An atomic operation as a value, for whoever executes it: a kernel, or the other side of a
// transport. Made by the API's cold paths.
#ifndef MESHMEM_TRANSPORT_ATOMIC_REQUEST_HPP_
#define MESHMEM_TRANSPORT_ATOMIC_REQUEST_HPP_

#include <cstddef>
#include <cstdint>

#include "device/operations.hpp"

namespace meshmem {

// Of 4 or 8 bytes. An operation that fetches nothing answers 0.
struct AtomicRequest {
  device::AtomicOp op;
  std::size_t bytes;
  std::uint64_t operand;
  std::uint64_t condition;
  bool fetches;
};

}  // namespace meshmem

#endif  // MESHMEM_TRANSPORT_ATOMIC_REQUEST_HPP_
