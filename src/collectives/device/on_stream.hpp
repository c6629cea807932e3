// SPDX-License-Identifier: Apache-2.0
//
// Collectives that take their place on a stream (include/shmemx.h): kernels, of large reductions
// several.
// Invariant: nothing here waits, allocates or uses a stream of the library, so that a graph can
// capture every call. Called by api/on_stream.cpp while the library is active; team.routine() is
// set.
#ifndef MESHMEM_COLLECTIVES_DEVICE_ON_STREAM_HPP_
#define MESHMEM_COLLECTIVES_DEVICE_ON_STREAM_HPP_

#include <hip/hip_runtime_api.h>

#include "collectives/collective.hpp"
#include "core/team.hpp"

namespace meshmem::on_stream {

// Ends the job unless kernels of all PEs reach each other.
void require_kernels(const Team& team);

// Checks the call and puts it on the stream.
void run(Team& team, const Collective& call, hipStream_t stream);

}  // namespace meshmem::on_stream

#endif  // MESHMEM_COLLECTIVES_DEVICE_ON_STREAM_HPP_
