// SPDX-License-Identifier: Apache-2.0
//
// Collectives by kernels of the library, which dispatch.hpp has chosen, and what tells whether
// kernels can run one.
// Invariant: the answer depends on what all members have in common: the segments of symmetric
// addresses, and what start-up has agreed on. Collectives return when this PE's dest is there.
#ifndef MESHMEM_COLLECTIVES_DEVICE_DEVICE_COLLECTIVES_HPP_
#define MESHMEM_COLLECTIVES_DEVICE_DEVICE_COLLECTIVES_HPP_

#include <cstddef>

#include "collectives/data_movement.hpp"
#include "core/team.hpp"
#include "device/launch.hpp"

namespace meshmem::on_device {

// Elements, bytes and blocks are more than none, and kernels reach the buffers.
void broadcast(Team& team, void* dest, const void* source, std::size_t bytes, int root);
void fcollect(Team& team, void* dest, const void* source, std::size_t bytes);
void collect(Team& team, void* dest, const void* source, std::size_t bytes);
void alltoall(Team& team, void* dest, const void* source, const AlltoallShape& shape);
void reduce(Team& team, const Reduction& op, void* dest, const void* source, std::size_t count);
void reduce_scatter(Team& team, const Reduction& op, void* dest, const void* source,
                    std::size_t count);
void scan(Team& team, const Reduction& op, void* dest, const void* source, std::size_t count,
          bool inclusive);

// The team as its kernels are handed it.
device::TeamHandle kernel_handle(const Team& team);
// The same for kernels that move data by many blocks, if the team has them.
device::TeamHandle handle_for_data(const Team& team);

// Kernels of all PEs can run a collective on buffers at these symmetric addresses.
bool kernels_reach(const void* dest, const void* source);
// They can on `bytes`, all of which lie there.
bool kernels_reach(const void* address, std::size_t bytes);
// Ends the job with a line unless they can: a kernel that goes beyond a buffer would stop it
// without one.
void check_reach(const char* routine, const void* address, std::size_t count,
                 std::size_t elem_bytes);

// Put a collective on a stream, on the current device, which is the PE's. The counts are more than
// none, and kernels reach the buffers.
hipError_t launch_broadcast(const Team& team, void* dest, const void* source, std::size_t bytes,
                            int root, hipStream_t stream);
hipError_t launch_fcollect(const Team& team, void* dest, const void* source, std::size_t bytes,
                           hipStream_t stream);
hipError_t launch_alltoall(const Team& team, void* dest, const void* source,
                           std::size_t block_bytes, hipStream_t stream);
// The same of a reduction, by the plan for its size.
hipError_t launch_reduce(const Team& team, const Reduction& op, void* dest, const void* source,
                         std::size_t count, hipStream_t stream);
// `count` elements for each PE.
hipError_t launch_reduce_scatter(const Team& team, const Reduction& op, void* dest,
                                 const void* source, std::size_t count, hipStream_t stream);

}  // namespace meshmem::on_device

#endif  // MESHMEM_COLLECTIVES_DEVICE_DEVICE_COLLECTIVES_HPP_
