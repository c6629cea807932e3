// SPDX-License-Identifier: Apache-2.0
//
// Collectives that take their place on a stream (include/shmemx.h): kernels, of large reductions
// several.
// Invariant: nothing here waits, allocates or uses a stream of the library, so that a graph can
// capture every call. Called by api/on_stream.cpp while the library is active; team.routine() is
// set.
#ifndef MESHMEM_COLLECTIVES_DEVICE_STREAM_COLLECTIVES_HPP_
#define MESHMEM_COLLECTIVES_DEVICE_STREAM_COLLECTIVES_HPP_

#include <hip/hip_runtime_api.h>

#include <cstddef>

#include "collectives/reduction.hpp"
#include "core/team.hpp"
#include "device/collectives/alltoallv_call.hpp"

namespace meshmem::on_stream {

// Ends the job unless kernels of all PEs reach each other.
void require_kernels(const Team& team);

void sync(Team& team, hipStream_t stream);
void broadcast(Team& team, void* dest, const void* source, std::size_t bytes, int root,
               hipStream_t stream);
void fcollect(Team& team, void* dest, const void* source, std::size_t bytes, hipStream_t stream);
void collect(Team& team, void* dest, const void* source, std::size_t bytes, hipStream_t stream);
void alltoall(Team& team, void* dest, const void* source, std::size_t bytes, hipStream_t stream);
void alltoallv(Team& team, const device::Alltoallv& call, hipStream_t stream);

// The computation that a row of the tables asks for.
struct Computation {
  enum class Kind { reduce, scatter, inscan, exscan };
  Reduction op;
  Kind kind;
};
void compute(Team& team, const Computation& computation, void* dest, const void* source,
             std::size_t count, hipStream_t stream);

}  // namespace meshmem::on_stream

#endif  // MESHMEM_COLLECTIVES_DEVICE_STREAM_COLLECTIVES_HPP_
