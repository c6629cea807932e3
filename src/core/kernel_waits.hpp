// SPDX-License-Identifier: Apache-2.0
//
// If devices are processors, writes what kernels wait for to the board that also shows the host's
// waits. A wait that lasts longer than MESHMEM_TIMEOUT ends the job, as on the host.
// Invariant: only reads what teams and kernels use. Start-up begins it.
#ifndef MESHMEM_CORE_KERNEL_WAITS_HPP_
#define MESHMEM_CORE_KERNEL_WAITS_HPP_

#include <cstddef>
#include <functional>
#include <optional>

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

// Whom a kernel waits for while it looks at a place in its PE's sync slab.
struct SyncWait {
  std::optional<int> team_pe;  // nullopt: the other blocks of its own grid
};
// Returns whom a kernel waits for at this offset, from the layout alone. nullopt: the place does
// not belong to the team in that slot.
std::optional<SyncWait> sync_wait_at(const device::SyncLayout& layout, int slot,
                                     std::size_t offset);

// Called once a process, when it has its device.
void show_waits_of_kernels(KernelWaitSources where);

}  // namespace meshmem

#endif  // MESHMEM_CORE_KERNEL_WAITS_HPP_
