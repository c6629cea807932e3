// SPDX-License-Identifier: Apache-2.0
//
// fence and quiet over all ways that data takes: the processor's stores, and the streams.
// Invariant: a program that has put nothing to or from device memory pays for one comparison beside
// the processor's fence. Called by the API wherever the standard completes or orders.
#ifndef MESHMEM_TRANSPORT_COMPLETION_HPP_
#define MESHMEM_TRANSPORT_COMPLETION_HPP_

#include "base/fence.hpp"
#include "gpu/device_transfer.hpp"

namespace meshmem {

// What the stream has been given arrives before anything that comes later, of any kind: it is waited
// for in both cases.
inline void complete_transfers(const char* routine) {
  if (device_work.is_under_way()) [[unlikely]]
    device_transfer().complete(routine);
  complete_stores();
}
inline void order_transfers(const char* routine) {
  if (device_work.is_under_way()) [[unlikely]]
    device_transfer().complete(routine);
  order_stores();
}

}  // namespace meshmem

#endif  // MESHMEM_TRANSPORT_COMPLETION_HPP_
