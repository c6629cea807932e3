// SPDX-License-Identifier: Apache-2.0
//
// Writes what kernels wait for to the board where the host's waits are, if devices are processors.
// Invariant: only reads what teams and kernels use. Begun by start-up.
#ifndef MESHMEM_CORE_KERNEL_WAITS_HPP_
#define MESHMEM_CORE_KERNEL_WAITS_HPP_

#include <functional>

#include "core/team.hpp"
#include "gpu/device_memory.hpp"
#include "gpu/device_state.hpp"

namespace meshmem {

// Where the flags and packets of collectives lie, and whose they are. All live as long as the
// process.
struct KernelWaitSources {
  const Slab& sync;
  const DeviceState& state;
  std::function<const Team*(int slot)> team_in;  // null where there is none
};

// From a process's first device on.
void show_waits_of_kernels(KernelWaitSources where);

}  // namespace meshmem

#endif  // MESHMEM_CORE_KERNEL_WAITS_HPP_
