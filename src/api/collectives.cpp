// SPDX-License-Identifier: Apache-2.0
//
// Team collectives (OpenSHMEM 1.6, section 9.10), with their types dropped at once.
// Invariant: barrier_all completes the calling thread's puts first; sync does not.

#include "api/entry.hpp"
#include "api/team_collective.hpp"
#include "collectives/combine.hpp"
#include "collectives/same_call.hpp"
#include "collectives/sync.hpp"
#include "memory/argument_checks.hpp"
#include "one_sided/completion.hpp"

namespace meshmem {
namespace {

using Kind = CollectiveKind;

template <typename E>
int broadcast(const char* routine, shmem_team_t team, void* dest, const void* source,
              std::size_t nelems, int PE_root) {
  return move<Kind::broadcast>(routine, team, dest, source, bytes_of(routine, nelems, sizeof(E)),
                               PE_root);
}
template <typename E>
int fcollect(const char* routine, shmem_team_t team, void* dest, const void* source,
             std::size_t nelems) {
  return move<Kind::fcollect>(routine, team, dest, source, bytes_of(routine, nelems, sizeof(E)));
}
template <typename E>
int collect(const char* routine, shmem_team_t team, void* dest, const void* source,
            std::size_t nelems) {
  return move<Kind::collect>(routine, team, dest, source, bytes_of(routine, nelems, sizeof(E)));
}
int alltoall_untyped(const char* routine, shmem_team_t handle, void* dest, const void* source,
                     std::size_t elem_bytes, std::size_t count) {
  run(collective_team(handle, routine),
      [&] { return alltoall_of(dest, source, elem_bytes, count); });
  return 0;
}
template <typename E>
int alltoall(const char* routine, shmem_team_t team, void* dest, const void* source,
             std::size_t nelems) {
  return alltoall_untyped(routine, team, dest, source, sizeof(E), nelems);
}
int alltoalls_untyped(const char* routine, shmem_team_t handle, void* dest, const void* source,
                      std::size_t elem_bytes, std::size_t count, std::ptrdiff_t dst,
                      std::ptrdiff_t sst) {
  run(collective_team(handle, routine),
      [&] { return alltoalls_of(dest, source, elem_bytes, count, dst, sst); });
  return 0;
}
template <typename E>
int alltoalls(const char* routine, shmem_team_t team, void* dest, const void* source,
              std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t nelems) {
  return alltoalls_untyped(routine, team, dest, source, sizeof(E), nelems, dst, sst);
}

#define COMBINE(name, kind, Op)                                                    \
  template <typename E>                                                            \
  int name(const char* routine, shmem_team_t team, void* dest, const void* source, \
           std::size_t count) {                                                    \
    static constexpr Reduction kOp = reduction<Op, E>();                           \
    return combine<Kind::kind>(routine, team, kOp, dest, source, count);           \
  }
COMBINE(and_reduce, reduce, And)
COMBINE(or_reduce, reduce, Or)
COMBINE(xor_reduce, reduce, Xor)
COMBINE(max_reduce, reduce, Max)
COMBINE(min_reduce, reduce, Min)
COMBINE(sum_reduce, reduce, Sum)
COMBINE(prod_reduce, reduce, Product)
COMBINE(sum_inscan, inscan, Sum)
COMBINE(sum_exscan, exscan, Sum)
#undef COMBINE

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
