// SPDX-License-Identifier: Apache-2.0
//
// Whom a kernel waits for that looks at a place of its PE's sync slab.
// Invariant: a pure function of the layout that host and kernels share (device/state.hpp). Called
// where waits of kernels are shown.
#ifndef MESHMEM_CORE_SYNC_WAIT_HPP_
#define MESHMEM_CORE_SYNC_WAIT_HPP_

#include <cstddef>
#include <optional>

#include "device/state.hpp"

namespace meshmem {

struct SyncWait {
  std::optional<int> team_pe;  // nullopt: the other blocks of its own grid
};
// nullopt: the place is not one of the team's in that slot.
std::optional<SyncWait> sync_wait_at(const device::SyncLayout& layout, int slot,
                                     std::size_t offset);

}  // namespace meshmem

#endif  // MESHMEM_CORE_SYNC_WAIT_HPP_
