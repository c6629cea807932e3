// SPDX-License-Identifier: Apache-2.0
//
// fence and quiet for the processor's stores, the streams and the transport.
// Invariant: a program that uses neither device memory nor far PEs pays for one comparison beside
// the processor's fence. Called by the API wherever the standard completes or orders operations.
#ifndef MESHMEM_ONE_SIDED_COMPLETION_HPP_
#define MESHMEM_ONE_SIDED_COMPLETION_HPP_

#include "base/waiting/fence.hpp"
#include "base/waiting/pending_work.hpp"

namespace meshmem {

// Returns when all operations under way on streams and on the transport are complete.
[[gnu::cold, gnu::noinline]] void complete_pending(const char* routine);
// Completes the operations under way on streams, and those of kernels on other machines. Orders
// those on the transport before later ones.
[[gnu::cold, gnu::noinline]] void order_pending(const char* routine);

// A quiet.
inline void complete_transfers(const char* routine) {
  if (pending_work.is_under_way()) [[unlikely]]
    complete_pending(routine);
  complete_stores();
}
// A fence.
inline void order_transfers(const char* routine) {
  if (pending_work.is_under_way()) [[unlikely]]
    order_pending(routine);
  order_stores();
}

}  // namespace meshmem

#endif  // MESHMEM_ONE_SIDED_COMPLETION_HPP_
