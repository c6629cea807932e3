// SPDX-License-Identifier: Apache-2.0
//
// Executes a collective by kernels of the library, and tells whether kernels can run one.
// Invariant: the answer depends on what all members have in common: the segments of symmetric
// addresses, and what start-up has agreed on. Called by dispatch and by collectives on streams.
#ifndef MESHMEM_COLLECTIVES_DEVICE_EXECUTOR_HPP_
#define MESHMEM_COLLECTIVES_DEVICE_EXECUTOR_HPP_

#include <hip/hip_runtime_api.h>

#include <cstddef>

#include "collectives/collective.hpp"
#include "core/team.hpp"
#include "device/launch.hpp"

namespace meshmem::on_device {

// Puts the collective on a stream, on the current device, which is the PE's. The caller knows that
// kernels reach the buffers. Only a sync, collect or alltoallv may have no elements.
hipError_t launch(const Team& team, const Collective& call, hipStream_t stream);
// The same on a stream of the library. Returns when this PE's dest is complete.
void run(Team& team, const Collective& call);
// Launches the kernel of a broadcast, fcollect or alltoall.
hipError_t launch_kernel_of_move(const device::TeamHandle& handle, const device::Move& move,
                                 const Collective& call, hipStream_t stream);

// For a team that takes any memory (by_rows.cpp). Whether it runs the call by rows: a broadcast,
// fcollect, alltoall, reduce-scatter, or a reduction except maxloc and minloc.
bool goes_by_rows(const Collective& call);
// Puts the call on a stream of the PE's device, which is current.
hipError_t launch_by_rows(const Team& team, const Collective& call, hipStream_t stream);

// Returns the team as kernels get it.
device::TeamHandle kernel_handle(const Team& team);
// The same for kernels that move data by many blocks. Notes the slow way if the team has only one
// block.
device::TeamHandle handle_for_data(const Team& team);
// The number of the team's channels: that many blocks can run its collectives.
int channels_of(const Team& team);
// Number of elements in a grain: kernels' slices begin at multiples of it
// (device/collectives/slices.hpp).
constexpr std::size_t grain_of(std::size_t elem_bytes) {
  return elem_bytes < 16 ? 16 / elem_bytes : 1;
}

// Whether kernels of all PEs reach these bytes, which begin at a symmetric address.
bool kernels_reach(const void* address, std::size_t bytes = 1);
// Ends the job with a line unless they do: a kernel that goes beyond a buffer would end it without
// a line.
void check_reach(const char* routine, const void* address, std::size_t bytes);

}  // namespace meshmem::on_device

#endif  // MESHMEM_COLLECTIVES_DEVICE_EXECUTOR_HPP_
