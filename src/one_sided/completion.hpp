// SPDX-License-Identifier: Apache-2.0
//
// fence and quiet over all ways that data takes: the processor's stores, the streams, the
// transport.
// Invariant: a program that has put nothing to or from device memory or a far PE pays for one
// comparison beside the processor's fence. Called by the API wherever the standard completes or
// orders.
#ifndef MESHMEM_ONE_SIDED_COMPLETION_HPP_
#define MESHMEM_ONE_SIDED_COMPLETION_HPP_

#include "base/waiting/fence.hpp"
#include "base/waiting/pending_work.hpp"

namespace meshmem {

[[gnu::cold, gnu::noinline]] void complete_pending(const char* routine);
// Also waits for the work that the device has been given.
[[gnu::cold, gnu::noinline]] void order_pending(const char* routine);

inline void complete_transfers(const char* routine) {
  if (pending_work.is_under_way()) [[unlikely]]
    complete_pending(routine);
  complete_stores();
}
inline void order_transfers(const char* routine) {
  if (pending_work.is_under_way()) [[unlikely]]
    order_pending(routine);
  order_stores();
}

}  // namespace meshmem

#endif  // MESHMEM_ONE_SIDED_COMPLETION_HPP_
