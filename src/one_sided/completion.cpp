// SPDX-License-Identifier: Apache-2.0
//
// Completes and orders the operations that are under way on streams and on the transport.
// Invariant: operations that another thread issues meanwhile do not count as completed.
#include "one_sided/completion.hpp"

#include "gpu/device_transfer.hpp"
#include "transport/transport.hpp"

namespace meshmem {
namespace {

// Completes what kernels do on other machines. False: no kernel can have done anything there.
bool complete_those_of_kernels(const char* routine) {
  const CompleteKernels complete = complete_kernels.load(std::memory_order_acquire);
  if (complete) complete(routine);
  return complete != nullptr;
}

}  // namespace

void complete_pending(const char* routine) {
  std::uint64_t issued = pending_work.issued.load(std::memory_order_acquire);
  if (complete_those_of_kernels(routine))
    --issued;  // see complete_kernels: the next quiet must ask too
  device_transfer().complete(routine);
  if (Transport* const network = transport()) network->complete();
  pending_work.note_completed(issued);
}

void order_pending(const char* routine) {
  Transport* const network = transport();
  if (!network) return complete_pending(routine);
  // Commands that the proxy has not taken have no place yet among what the transport sends.
  complete_those_of_kernels(routine);
  device_transfer().complete(routine);
  network->order();
}

}  // namespace meshmem
