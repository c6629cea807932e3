// SPDX-License-Identifier: Apache-2.0
//
// Team collectives (OpenSHMEM 1.6, section 9.10) and those of include/shmemx.h, with their types
// dropped at once, on host and device memory alike. Also the program's plan for reductions.
// Invariant: barrier_all completes the calling thread's puts first; sync does not.

#include "api/entry.hpp"
#include "collectives/combine.hpp"
#include "collectives/dispatch.hpp"
#include "collectives/policy/reduce_policy.hpp"
#include "collectives/same_call.hpp"
#include "collectives/sync.hpp"
#include "memory/argument_checks.hpp"
#include "one_sided/completion.hpp"
#include "shmemx.h"

namespace meshmem {
namespace {

using Kind = CollectiveKind;

// One instance for each kind. Returns 0, as the standard's collectives do.
template <Kind kind>
[[gnu::noinline]] int move(const char* routine, shmem_team_t handle, void* dest, const void* source,
                           std::size_t bytes, int root = 0) {
  Team& team = collective_team(handle, routine);
  if constexpr (kind == Kind::broadcast) check_root(team, root);
  run(team, [&] { return moving(kind, dest, source, bytes, root); });
  return 0;
}

template <Kind kind>
[[gnu::noinline]] int combine(const char* routine, shmem_team_t handle, const Reduction& op,
                              void* dest, const void* source, std::size_t count) {
  run(collective_team(handle, routine), [&] { return combining(kind, op, dest, source, count); });
  return 0;
}

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

#define COMBINE(name, kind, op)                                                    \
  template <typename E>                                                            \
  int name(const char* routine, shmem_team_t team, void* dest, const void* source, \
           std::size_t count) {                                                    \
    static constexpr Reduction kOp = op;                                           \
    return combine<Kind::kind>(routine, team, kOp, dest, source, count);           \
  }
MESHMEM_COMBINING(COMBINE)
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

#define EXTENSION(name, op, E, result, params, args)    \
  MESHMEM_EXTENSION_ENTRY(result, name, params) {       \
    return op<E>("shmemx_" #name, MESHMEM_UNWRAP args); \
  }
MESHMEM_EXTENSIONS(EXTENSION, MESHMEM_IN)
MESHMEM_LOCATED(EXTENSION)
MESHMEM_ALLTOALLV(EXTENSION, MESHMEM_IN)
MESHMEM_ALLTOALLV_ON_HOST(EXTENSION, MESHMEM_IN)
#undef EXTENSION

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

// The program chooses how kernels reduce; an invalid plan changes nothing.
MESHMEM_EXTENSION_ENTRY(int, reduce_plan, (const char* text)) {
  require_active("shmemx_reduce_plan");
  if (!text) {
    reduce_policy.use_plan(std::nullopt);
    return 0;
  }
  const auto plan = parse_plan(text);
  if (plan) reduce_policy.use_plan(plan);
  return plan ? 0 : 1;
}

MESHMEM_EXTENSION_ENTRY(const char*, reduce_plan_algorithm, (int number)) {
  if (number < 0) return nullptr;
  const std::string_view name = name_of_algorithm(static_cast<std::size_t>(number));
  return name.empty() ? nullptr : name.data();
}

}  // namespace meshmem
