// SPDX-License-Identifier: Apache-2.0
//
// Team collectives (OpenSHMEM 1.6, section 9.10), with their types dropped at once.
// Invariant: barrier_all completes the calling thread's puts first; sync does not.

#include "api/entry.hpp"
#include "collectives/combine.hpp"
#include "collectives/dispatch.hpp"
#include "collectives/same_call.hpp"
#include "collectives/sync.hpp"
#include "memory/room.hpp"
#include "one_sided/completion.hpp"

namespace meshmem {
namespace {

template <typename E>
int broadcast(const char* routine, shmem_team_t handle, void* dest, const void* source,
              std::size_t nelems, int PE_root) {
  Team& team = collective_team(handle, routine);
  if (static_cast<unsigned>(PE_root) >= static_cast<unsigned>(team.n)) {
    fatal("{}: PE_root {} is not in 0..{} of the team", routine, PE_root, team.n - 1);
  }
  dispatch::broadcast(team, dest, source, bytes_of(routine, nelems, sizeof(E)), PE_root);
  return 0;
}
template <typename E>
int fcollect(const char* routine, shmem_team_t handle, void* dest, const void* source,
             std::size_t nelems) {
  dispatch::fcollect(collective_team(handle, routine), dest, source,
                     bytes_of(routine, nelems, sizeof(E)));
  return 0;
}
template <typename E>
int collect(const char* routine, shmem_team_t handle, void* dest, const void* source,
            std::size_t nelems) {
  dispatch::collect(collective_team(handle, routine), dest, source,
                    bytes_of(routine, nelems, sizeof(E)));
  return 0;
}
int alltoall_untyped(const char* routine, shmem_team_t handle, void* dest, const void* source,
                     const AlltoallShape& shape) {
  dispatch::alltoall(collective_team(handle, routine), dest, source, shape);
  return 0;
}
template <typename E>
int alltoall(const char* routine, shmem_team_t handle, void* dest, const void* source,
             std::size_t nelems) {
  return alltoall_untyped(routine, handle, dest, source,
                          {.elem_bytes = sizeof(E), .count = nelems});
}
template <typename E>
int alltoalls(const char* routine, shmem_team_t handle, void* dest, const void* source,
              std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t nelems) {
  return alltoall_untyped(
      routine, handle, dest, source,
      {.elem_bytes = sizeof(E), .count = nelems, .dest_stride = dst, .source_stride = sst});
}

int reduce_untyped(const char* routine, shmem_team_t handle, const Reduction& op, void* dest,
                   const void* source, std::size_t count) {
  dispatch::reduce(collective_team(handle, routine), op, dest, source, count);
  return 0;
}
int scan_untyped(const char* routine, shmem_team_t handle, const Reduction& op, void* dest,
                 const void* source, std::size_t count, bool inclusive) {
  dispatch::scan(collective_team(handle, routine), op, dest, source, count, inclusive);
  return 0;
}

#define REDUCE(name, Op)                                                             \
  template <typename E>                                                              \
  int name(const char* routine, shmem_team_t handle, void* dest, const void* source, \
           std::size_t count) {                                                      \
    return reduce_untyped(routine, handle, reduction<Op, E>(), dest, source, count); \
  }
REDUCE(and_reduce, And)
REDUCE(or_reduce, Or)
REDUCE(xor_reduce, Xor)
REDUCE(max_reduce, Max)
REDUCE(min_reduce, Min)
REDUCE(sum_reduce, Sum)
REDUCE(prod_reduce, Product)
#undef REDUCE

template <typename E>
int sum_inscan(const char* routine, shmem_team_t handle, void* dest, const void* source,
               std::size_t count) {
  return scan_untyped(routine, handle, reduction<Sum, E>(), dest, source, count, true);
}
template <typename E>
int sum_exscan(const char* routine, shmem_team_t handle, void* dest, const void* source,
               std::size_t count) {
  return scan_untyped(routine, handle, reduction<Sum, E>(), dest, source, count, false);
}

}  // namespace

#define COLLECTIVE(name, op, E, result, params, args) \
  MESHMEM_ENTRY(result, name, params) { return op<E>("shmem_" #name, MESHMEM_UNWRAP args); }
#define COLLECTIVES_OF_TYPE(NAME, TYPE, rma, ext, amo, bit, arith, logic, unused) \
  MESHMEM_IN_##rma(MESHMEM_OPS_COLLECTIVE(COLLECTIVE, NAME##_, , TYPE, TYPE))     \
      MESHMEM_IN_##rma(MESHMEM_OPS_REDUCE_ORDER(COLLECTIVE, NAME##_, TYPE))       \
          MESHMEM_IN_##arith(MESHMEM_OPS_REDUCE_ARITH(COLLECTIVE, NAME##_, TYPE)) \
              MESHMEM_IN_##logic(MESHMEM_OPS_REDUCE_LOGIC(COLLECTIVE, NAME##_, TYPE))
MESHMEM_TYPES(COLLECTIVES_OF_TYPE, )
MESHMEM_OPS_COLLECTIVE(COLLECTIVE, , mem, char, void)
#undef COLLECTIVE
#undef COLLECTIVES_OF_TYPE

MESHMEM_ENTRY(void, barrier_all, (void)) {
  Team& world = collective_team(SHMEM_TEAM_WORLD, "shmem_barrier_all");
  expect_same_call(world, "");
  complete_transfers("shmem_barrier_all");
  sync(world);
}
MESHMEM_ENTRY(void, sync_all, (void)) {
  Team& world = collective_team(SHMEM_TEAM_WORLD, "shmem_sync_all");
  expect_same_call(world, "");
  sync(world);
}
MESHMEM_ENTRY(int, team_sync, (shmem_team_t handle)) {
  Team& team = collective_team(handle, "shmem_team_sync");
  expect_same_call(team, "");
  sync(team);
  return 0;
}

}  // namespace meshmem
