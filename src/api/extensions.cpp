// SPDX-License-Identifier: Apache-2.0
//
// Reductions that the standard does not have (include/shmemx.h), with their types dropped at once.
// Invariant: as the standard's reductions, on host and device memory alike.
#include "api/transfer.hpp"
#include "collectives/anywhere.hpp"
#include "collectives/combine.hpp"
#include "shmemx.h"

namespace meshmem {
namespace {

template <typename E>
int avg_reduce(const char* routine, shmem_team_t handle, void* dest, const void* source,
               std::size_t count) {
  anywhere::reduce(collective_team(handle, routine), average<E>(), dest, source, count);
  return 0;
}

}  // namespace

#define EXTENSION(name, op, E, result, params, args)       \
  extern "C" MESHMEM_VISIBLE result shmemx_##name params { \
    return op<E>("shmemx_" #name, MESHMEM_UNWRAP args);    \
  }
MESHMEM_EXTENSIONS(EXTENSION, MESHMEM_IN)
#undef EXTENSION

}  // namespace meshmem
