// SPDX-License-Identifier: Apache-2.0
//
// Collectives of active sets (OpenSHMEM 1.6, section 9.9, deprecated): those of the team that the
// library keeps for the set.
// Invariant: pSync and pWrk are neither read nor written. Only members of a set take part, also
// when its team is made. A PE that is not a member, or that gives an impossible set, ends the job.
#include "api/entry.hpp"
#include "collectives/combine.hpp"
#include "collectives/dispatch.hpp"
#include "collectives/same_call.hpp"
#include "collectives/sync.hpp"
#include "memory/argument_checks.hpp"
#include "one_sided/completion.hpp"

namespace meshmem {
namespace {

[[noreturn, gnu::cold, gnu::noinline]] void refuse_set(const ActiveSet& set, const char* routine) {
  const std::string name =
      fmt::format("PE_start {}, logPE_stride {}, PE_size {}", set.start, set.log_stride, set.size);
  const auto n = static_cast<int>(address_map.n_pes);
  if (!set.is_within(n)) fatal("{}: {} is not an active set of PEs 0..{}", routine, name, n - 1);
  if (!set.contains(address_map.my_pe))
    fatal("{}: this PE is not in the active set {}", routine, name);
  fatal("{}: {} different active sets have been used, and no more are possible; make teams instead",
        routine, kActiveSetSlots);
}

void check_set(const ActiveSet& set, const char* routine) {
  if (!set.is_within(static_cast<int>(address_map.n_pes)) || !set.contains(address_map.my_pe))
      [[unlikely]]
    refuse_set(set, routine);
}

// Ends the job unless this PE is in the set, and `root` is one of its numbers.
void require_root(const ActiveSet& set, int root, const char* routine) {
  require_active(routine);
  check_set(set, routine);
  if (root < 0 || root >= set.size)
    fatal("{}: PE_root {} is not in 0..{} of the active set", routine, root, set.size - 1);
}

// Returns the set's team for one call of `routine`. Comes after all other checks, since a set's
// first call may wait for the other members.
Team& team_of_set(const ActiveSet& set, const char* routine) {
  require_active(routine);
  check_set(set, routine);
  Team* team = runtime().active_set_teams().team_of(set, [routine](Team& made) {
    made.begin_call(routine);
    // No kernel of a member writes to another's flags before they are cleared.
    if (runtime().has_devices()) sync(made);
  });
  if (!team) [[unlikely]]
    refuse_set(set, routine);
  team->begin_call(routine);
  return *team;
}

void run_on_set(const ActiveSet& set, const char* routine, const Collective& call) {
  Team& team = team_of_set(set, routine);
  run(team, [&] { return call; });
}

template <typename E>
void set_broadcast(const char* routine, void* dest, const void* source, std::size_t nelems,
                   int PE_root, int PE_start, int logPE_stride, int PE_size, long*) {
  const ActiveSet set{PE_start, logPE_stride, PE_size};
  require_root(set, PE_root, routine);
  Collective call = moving(CollectiveKind::broadcast, dest, source,
                           bytes_of(routine, nelems, sizeof(E)), PE_root);
  call.root_has_dest = false;
  run_on_set(set, routine, call);
}
template <typename E>
void set_collect(const char* routine, void* dest, const void* source, std::size_t nelems,
                 int PE_start, int logPE_stride, int PE_size, long*) {
  run_on_set({PE_start, logPE_stride, PE_size}, routine,
             moving(CollectiveKind::collect, dest, source, bytes_of(routine, nelems, sizeof(E))));
}
template <typename E>
void set_fcollect(const char* routine, void* dest, const void* source, std::size_t nelems,
                  int PE_start, int logPE_stride, int PE_size, long*) {
  run_on_set({PE_start, logPE_stride, PE_size}, routine,
             moving(CollectiveKind::fcollect, dest, source, bytes_of(routine, nelems, sizeof(E))));
}
template <typename E>
void set_alltoalls(const char* routine, void* dest, const void* source, std::ptrdiff_t dst,
                   std::ptrdiff_t sst, std::size_t nelems, int PE_start, int logPE_stride,
                   int PE_size, long*) {
  run_on_set({PE_start, logPE_stride, PE_size}, routine,
             alltoalls_of(dest, source, sizeof(E), nelems, dst, sst));
}
template <typename E>
void set_alltoall(const char* routine, void* dest, const void* source, std::size_t nelems,
                  int PE_start, int logPE_stride, int PE_size, long*) {
  run_on_set({PE_start, logPE_stride, PE_size}, routine,
             alltoall_of(dest, source, sizeof(E), nelems));
}

void reduce_untyped(const char* routine, const Reduction& op, void* dest, const void* source,
                    int nreduce, const ActiveSet& set) {
  if (nreduce < 0) fatal("{}: nreduce is {}", routine, nreduce);
  run_on_set(
      set, routine,
      combining(CollectiveKind::reduce, op, dest, source, static_cast<std::size_t>(nreduce)));
}

#define REDUCE(name, Op)                                                              \
  template <typename E>                                                               \
  void name(const char* routine, E* dest, const E* source, int nreduce, int PE_start, \
            int logPE_stride, int PE_size, E*, long*) {                               \
    reduce_untyped(routine, reduction<Op, E>(), dest, source, nreduce,                \
                   {PE_start, logPE_stride, PE_size});                                \
  }
REDUCE(and_to_all, And)
REDUCE(or_to_all, Or)
REDUCE(xor_to_all, Xor)
REDUCE(max_to_all, Max)
REDUCE(min_to_all, Min)
REDUCE(sum_to_all, Sum)
REDUCE(prod_to_all, Product)
#undef REDUCE

}  // namespace

#define OF_A_SET(name, op, E, result, params, args) \
  MESHMEM_ENTRY(result, name, params) { op<E>("shmem_" #name, MESHMEM_UNWRAP args); }
#define REDUCTIONS_OF_TYPE(NAME, TYPE, old, sum, wait, until, logic, order, arith, unused) \
  MESHMEM_IN_##logic(MESHMEM_OPS_DEPRECATED_LOGIC(OF_A_SET, NAME##_, TYPE))                \
      MESHMEM_IN_##order(MESHMEM_OPS_DEPRECATED_ORDER(OF_A_SET, NAME##_, TYPE))            \
          MESHMEM_IN_##arith(MESHMEM_OPS_DEPRECATED_ARITH(OF_A_SET, NAME##_, TYPE))
MESHMEM_DEPRECATED_TYPES(REDUCTIONS_OF_TYPE, )
MESHMEM_OPS_DEPRECATED_COLLECTIVE(OF_A_SET, 32, std::uint32_t)
MESHMEM_OPS_DEPRECATED_COLLECTIVE(OF_A_SET, 64, std::uint64_t)
#undef OF_A_SET
#undef REDUCTIONS_OF_TYPE

MESHMEM_ENTRY(void, barrier, (int PE_start, int logPE_stride, int PE_size, long*)) {
  Team& team = team_of_set({PE_start, logPE_stride, PE_size}, "shmem_barrier");
  expect_same_call(team, "");
  complete_transfers("shmem_barrier");
  sync(team);
}
MESHMEM_ENTRY(void, sync, (int PE_start, int logPE_stride, int PE_size, long*)) {
  Team& team = team_of_set({PE_start, logPE_stride, PE_size}, "shmem_sync");
  expect_same_call(team, "");
  sync(team);
}

}  // namespace meshmem
