// SPDX-License-Identifier: Apache-2.0
//
// Collectives that the standard does not have (include/shmemx.h), with their types dropped at once.
// Invariant: as the standard's collectives, on host and device memory alike.
#include "api/entry.hpp"
#include "collectives/alltoallv.hpp"
#include "collectives/combine.hpp"
#include "collectives/dispatch.hpp"
#include "collectives/same_call.hpp"
#include "shmemx.h"

namespace meshmem {
namespace {

template <typename E>
int avg_reduce(const char* routine, shmem_team_t handle, void* dest, const void* source,
               std::size_t count) {
  dispatch::reduce(collective_team(handle, routine), average<E>(), dest, source, count);
  return 0;
}

template <typename E>
int maxloc_reduce(const char* routine, shmem_team_t handle, void* dest, const void* source,
                  std::size_t count) {
  constexpr Reduction kOp = located_reduction<device::ReduceOp::max, decltype(E::value)>();
  dispatch::reduce(collective_team(handle, routine), kOp, dest, source, count);
  return 0;
}
template <typename E>
int minloc_reduce(const char* routine, shmem_team_t handle, void* dest, const void* source,
                  std::size_t count) {
  constexpr Reduction kOp = located_reduction<device::ReduceOp::min, decltype(E::value)>();
  dispatch::reduce(collective_team(handle, routine), kOp, dest, source, count);
  return 0;
}

int scatter_untyped(const char* routine, shmem_team_t handle, const Reduction& op, void* dest,
                    const void* source, std::size_t count) {
  dispatch::reduce_scatter(collective_team(handle, routine), op, dest, source, count);
  return 0;
}
#define REDUCE_SCATTER(name, op)                                                     \
  template <typename E>                                                              \
  int name(const char* routine, shmem_team_t handle, void* dest, const void* source, \
           std::size_t count) {                                                      \
    return scatter_untyped(routine, handle, op, dest, source, count);                \
  }
REDUCE_SCATTER(and_reduce_scatter, (reduction<And, E>()))
REDUCE_SCATTER(or_reduce_scatter, (reduction<Or, E>()))
REDUCE_SCATTER(xor_reduce_scatter, (reduction<Xor, E>()))
REDUCE_SCATTER(max_reduce_scatter, (reduction<Max, E>()))
REDUCE_SCATTER(min_reduce_scatter, (reduction<Min, E>()))
REDUCE_SCATTER(sum_reduce_scatter, (reduction<Sum, E>()))
REDUCE_SCATTER(prod_reduce_scatter, (reduction<Product, E>()))
REDUCE_SCATTER(avg_reduce_scatter, average<E>())
#undef REDUCE_SCATTER

int alltoallv_untyped(const char* routine, shmem_team_t handle, std::size_t elem_bytes, void* dest,
                      const std::size_t* dest_nelems, const std::size_t* dest_displs,
                      const void* source, const std::size_t* source_nelems,
                      const std::size_t* source_displs) {
  Team& team = collective_team(handle, routine);
  expect_same_call(team, "elements of {} bytes", elem_bytes);
  alltoallv(team, elem_bytes, dest, blocks_of(team, dest_nelems, dest_displs, false), source,
            blocks_of(team, source_nelems, source_displs, false));
  return 0;
}
template <typename E, typename... Arguments>
int alltoallv(const char* routine, shmem_team_t handle, Arguments... arguments) {
  return alltoallv_untyped(routine, handle, sizeof(E), arguments...);
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
