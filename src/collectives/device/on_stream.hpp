// SPDX-License-Identifier: Apache-2.0
//
// Collectives that take their place on a stream (include/shmemx.h): a kernel, or for large data
// several kernels and copies.
// Invariant: nothing here waits, allocates or uses a stream of the library, so that a graph can
// capture every call. Called by api/on_stream.cpp while the library is active; team.routine() is
// set.
#ifndef MESHMEM_COLLECTIVES_DEVICE_ON_STREAM_HPP_
#define MESHMEM_COLLECTIVES_DEVICE_ON_STREAM_HPP_

#include <hip/hip_runtime_api.h>

#include "collectives/collective.hpp"
#include "core/team.hpp"

namespace meshmem::on_stream {

// Ends the job unless streams can run collectives of the team: on one node the devices must reach
// each other, over several nodes the proxy must run.
void require_kernels(const Team& team);

// Whether the team's collectives can take any memory (Team::takes_any_memory). False for a team in
// a small slot, which would need a kernel for every few bytes.
bool can_go_by_rows(const Team& team);

// Checks the call and puts it on the stream.
void run(Team& team, const Collective& call, hipStream_t stream);

}  // namespace meshmem::on_stream

#endif  // MESHMEM_COLLECTIVES_DEVICE_ON_STREAM_HPP_
