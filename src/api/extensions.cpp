// SPDX-License-Identifier: Apache-2.0
//
// Collectives that the standard does not have (include/shmemx.h), with their types dropped at once.
// Invariant: as the standard's collectives, on host and device memory alike.
#include "api/team_collective.hpp"
#include "collectives/combine.hpp"
#include "shmemx.h"

namespace meshmem {
namespace {

#define COMBINE(name, kind, op)                                                    \
  template <typename E>                                                            \
  int name(const char* routine, shmem_team_t team, void* dest, const void* source, \
           std::size_t count) {                                                    \
    static constexpr Reduction kOp = op;                                           \
    return combine<CollectiveKind::kind>(routine, team, kOp, dest, source, count); \
  }
COMBINE(avg_reduce, reduce, average<E>())
COMBINE(maxloc_reduce, reduce, (located_reduction<device::ReduceOp::max, decltype(E::value)>()))
COMBINE(minloc_reduce, reduce, (located_reduction<device::ReduceOp::min, decltype(E::value)>()))
COMBINE(and_reduce_scatter, reduce_scatter, (reduction<And, E>()))
COMBINE(or_reduce_scatter, reduce_scatter, (reduction<Or, E>()))
COMBINE(xor_reduce_scatter, reduce_scatter, (reduction<Xor, E>()))
COMBINE(max_reduce_scatter, reduce_scatter, (reduction<Max, E>()))
COMBINE(min_reduce_scatter, reduce_scatter, (reduction<Min, E>()))
COMBINE(sum_reduce_scatter, reduce_scatter, (reduction<Sum, E>()))
COMBINE(prod_reduce_scatter, reduce_scatter, (reduction<Product, E>()))
COMBINE(avg_reduce_scatter, reduce_scatter, average<E>())
#undef COMBINE

int alltoallv_untyped(const char* routine, shmem_team_t handle, const device::Alltoallv& call) {
  check_and_run(collective_team(handle, routine), alltoallv_of(call));
  return 0;
}
template <typename E>
int alltoallv(const char* routine, shmem_team_t team, void* dest, const std::size_t* dest_nelems,
              const std::size_t* dest_displs, const void* source, const std::size_t* source_nelems,
              const std::size_t* source_displs) {
  return alltoallv_untyped(
      routine, team,
      {dest, {dest_nelems, dest_displs}, source, {source_nelems, source_displs}, sizeof(E)});
}

}  // namespace

#define EXTENSION(name, op, E, result, params, args)    \
  MESHMEM_EXTENSION_ENTRY(result, name, params) {       \
    return op<E>("shmemx_" #name, MESHMEM_UNWRAP args); \
  }
MESHMEM_EXTENSIONS(EXTENSION, MESHMEM_IN)
MESHMEM_LOCATED(EXTENSION)
MESHMEM_ALLTOALLV(EXTENSION, MESHMEM_IN)
MESHMEM_ALLTOALLV_ON_HOST(EXTENSION, MESHMEM_IN)
#undef EXTENSION

}  // namespace meshmem
