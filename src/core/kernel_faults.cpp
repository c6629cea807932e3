// SPDX-License-Identifier: Apache-2.0
//
// Connects a kernel's fault with the record of failed allocations.
// Invariant: works in a signal handler.
#include "core/kernel_faults.hpp"

#if defined(MESHMEM_TARGET_CPU)
#include <hip/on_cpu/faults.h>

#include "memory/address_map.hpp"
#include "memory/failed_allocation.hpp"
#endif

namespace meshmem {

void explain_kernel_faults() {
#if defined(MESHMEM_TARGET_CPU)
  hip_on_cpu::call_at_bad_addresses(
      [](const void* address) { print_failed_allocation_at(address, address_map.my_pe); });
#endif
}

}  // namespace meshmem
