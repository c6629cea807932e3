// SPDX-License-Identifier: Apache-2.0
//
// Collectives by rows: for a team that takes any memory of its PEs' devices
// (shmemx_team_take_any_memory). Kernels store the data into the rows of other PEs, and each PE
// fills its own dest from its rows.
// Invariant: in other PEs' memory, a PE writes only the team's rows. Which kernels run, and how
// much each of them does, follows from numbers that all PEs have in common, not from the buffers.
// Called by collectives on streams.
#ifndef MESHMEM_COLLECTIVES_DEVICE_BY_ROWS_HPP_
#define MESHMEM_COLLECTIVES_DEVICE_BY_ROWS_HPP_

#include <hip/hip_runtime_api.h>

#include "collectives/collective.hpp"
#include "core/team.hpp"

namespace meshmem::on_device {

// Whether such a team runs the call by rows: a broadcast, fcollect, alltoall, reduce-scatter, or a
// reduction except maxloc and minloc.
bool goes_by_rows(const Collective& call);
// Puts the call on a stream of the PE's device, which is current.
hipError_t launch_by_rows(const Team& team, const Collective& call, hipStream_t stream);

}  // namespace meshmem::on_device

#endif  // MESHMEM_COLLECTIVES_DEVICE_BY_ROWS_HPP_
