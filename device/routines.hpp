// SPDX-License-Identifier: Apache-2.0
//
// The routines without a type and the collectives as kernels call them: first the calling group,
// then the parameters of shmem/ops.h.
// Invariant: types are dropped here; a routine is a line or two. Read by shmem/device.hpp.
#ifndef MESHMEM_DEVICE_ROUTINES_HPP_
#define MESHMEM_DEVICE_ROUTINES_HPP_

#include "device/atomics.hpp"
#include "device/collectives/by_grid.hpp"
#include "device/collectives/by_host.hpp"
#include "device/collectives/by_one_thread.hpp"
#include "device/collectives/moves.hpp"
#include "device/collectives/one_shot.hpp"
#include "device/collectives/reduce.hpp"
#include "device/packet_put.hpp"
#include "device/rma.hpp"
#include "device/same_call.hpp"
#include "device/sync.hpp"
#include "device/wait.hpp"
#include "device/whole_group.hpp"

namespace meshmem {
namespace device {

MESHMEM_DEVICE int my_pe() { return state().me; }
MESHMEM_DEVICE int n_pes() { return state().n_pes; }
MESHMEM_DEVICE void* ptr(const void* dest, int pe) { return try_translate(dest, pe); }
MESHMEM_DEVICE void* team_ptr(shmem_team_t team, const void* dest, int pe) {
  const int slot = slot_of(team);
  if (slot == kNoTeam || static_cast<unsigned>(pe) >= static_cast<unsigned>(team_in(slot).n))
    return nullptr;
  return try_translate(dest, world_pe_of(team_in(slot), pe));
}

// Also a quiet (device/sync.hpp). The host runs it for a team that spans machines.
template <typename Group>
MESHMEM_DEVICE int team_sync(const Group& group, shmem_team_t team) {
  const Call call = Call::meeting();
  if (spans_nodes(team))
    return by_host(group, {call, ElemType::none, team, nullptr, nullptr, 1, 1});
  const TeamSync sync(team);
  [[maybe_unused]] const InCall in_call(group, sync, call);
  check_call(group, sync, call);
  team_sync(group, sync);
  return 0;
}
template <typename Group>
MESHMEM_DEVICE void barrier_all(const Group& group) {
  team_sync(group, SHMEM_TEAM_WORLD);
}
template <typename Group>
MESHMEM_DEVICE void sync_all(const Group& group) {
  team_sync(group, SHMEM_TEAM_WORLD);
}

// One fence for all contexts and PEs: it orders all stores of the calling thread.
template <typename Group>
MESHMEM_DEVICE void ctx_fence(const Group& group, shmem_ctx_t) {
  fence(group);
}
template <typename Group>
MESHMEM_DEVICE void ctx_quiet(const Group& group, shmem_ctx_t) {
  quiet(group);
}
template <typename Group>
MESHMEM_DEVICE void quiet_of(const Group& group, const int*, std::size_t) {
  quiet(group);
}
template <typename Group>
MESHMEM_DEVICE void ctx_quiet_of(const Group& group, shmem_ctx_t, const int* pes, std::size_t n) {
  quiet_of(group, pes, n);
}
template <typename Pes>
MESHMEM_DEVICE void pe_quiet(Pes, const int* pes, std::size_t n) {
  quiet_of(Thread(), pes, n);
}

// The TeamSync of a collective while it runs. Checks the call and its buffers.
struct SyncInCall : TeamSync {
  InCall in_call;
  template <typename Group>
  MESHMEM_DEVICE_MEMBER SyncInCall(const Group& group, const TeamSync& sync, const Call& call,
                                   const void* dest, const void* source)
      : TeamSync(sync), in_call(group, sync, call) {
    check_call(group, sync, call, dest, source);
  }
};
template <typename Group>
MESHMEM_DEVICE SyncInCall sync_of(const Group& group, shmem_team_t team, const Call& call,
                                  const void* dest, const void* source) {
  if (call.nelems > 0) {
    check_symmetric(dest);
    check_symmetric(source);
  }
  const TeamSync sync(team);
  if (call.kind == CollectiveKind::broadcast) check_root(call.root, sync.team.n);
  return {group, sync, call, dest, source};
}

template <typename E, typename Group>
MESHMEM_DEVICE int broadcast(const Group& group, shmem_team_t team, void* dest, const void* source,
                             std::size_t nelems, int root) {
  const Call call = Call::movement<E>(CollectiveKind::broadcast, nelems, root);
  if (spans_nodes(team)) return by_host(group, {call, kHostType<E>, team, dest, source, 1, 1});
  return broadcast(group, sync_of(group, team, call, dest, source), dest, source,
                   nelems * sizeof(E), root);
}
template <typename E, typename Group>
MESHMEM_DEVICE int collect(const Group& group, shmem_team_t team, void* dest, const void* source,
                           std::size_t nelems) {
  const Call call = Call::movement<E>(CollectiveKind::collect, nelems);
  if (spans_nodes(team)) return by_host(group, {call, kHostType<E>, team, dest, source, 1, 1});
  return collect(group, sync_of(group, team, call, dest, source), dest, source, nelems * sizeof(E));
}
template <typename E, typename Group>
MESHMEM_DEVICE int fcollect(const Group& group, shmem_team_t team, void* dest, const void* source,
                            std::size_t nelems) {
  const Call call = Call::movement<E>(CollectiveKind::fcollect, nelems);
  if (spans_nodes(team)) return by_host(group, {call, kHostType<E>, team, dest, source, 1, 1});
  return fcollect(group, sync_of(group, team, call, dest, source), dest, source, nelems * sizeof(E),
                  nelems * sizeof(E));
}
template <typename E, typename Group>
MESHMEM_DEVICE int alltoall(const Group& group, shmem_team_t team, void* dest, const void* source,
                            std::size_t nelems) {
  const Call call = Call::movement<E>(CollectiveKind::alltoall, nelems);
  if (spans_nodes(team)) return by_host(group, {call, kHostType<E>, team, dest, source, 1, 1});
  return alltoall(group, sync_of(group, team, call, dest, source), dest, source, nelems * sizeof(E),
                  nelems * sizeof(E));
}
template <typename E, typename Group>
MESHMEM_DEVICE int alltoalls(const Group& group, shmem_team_t team, void* dest, const void* source,
                             std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t nelems) {
  if (nelems > 0) check_strides(dst, sst, 1);
  const Call call = Call::movement<E>(CollectiveKind::alltoalls, nelems);
  if (spans_nodes(team)) return by_host(group, {call, kHostType<E>, team, dest, source, dst, sst});
  return alltoalls<Bits<sizeof(E)>>(group, sync_of(group, team, call, dest, source), dest, source,
                                    dst, sst, nelems);
}

// The operations, by the names of their routines.
#define MESHMEM_REDUCE_OPS(F) \
  F(sum, sum)                 \
  F(prod, prod) F(min, min) F(max, max) F(avg, avg) F(and, bit_and) F(or, bit_or) F(xor, bit_xor)

// kind: reduce or reduce_scatter.
#define MESHMEM_REDUCTION_OF(name, kind, op)                                                      \
  template <typename E, typename Group>                                                           \
  MESHMEM_DEVICE int name##_##kind(const Group& group, shmem_team_t team, E* dest,                \
                                   const E* source, std::size_t nreduce) {                        \
    const Call call = Call::reduction<E>(CollectiveKind::kind, ReduceOp::op, nreduce);            \
    if (spans_nodes(team)) return by_host(group, {call, kHostType<E>, team, dest, source, 1, 1}); \
    with_own_registers(                                                                           \
        group, sync_of(group, team, call, dest, source), [=](const TeamSync& sync) {              \
          kind<ReduceOp::op>(group, sync, MESHMEM_OPAQUE(dest, group),                            \
                             MESHMEM_OPAQUE(source, group), MESHMEM_OPAQUE(nreduce, group));      \
        });                                                                                       \
    return 0;                                                                                     \
  }
#define MESHMEM_REDUCTION(name, op)      \
  MESHMEM_REDUCTION_OF(name, reduce, op) \
  MESHMEM_REDUCTION_OF(name, reduce_scatter, op)
MESHMEM_REDUCE_OPS(MESHMEM_REDUCTION)
#undef MESHMEM_REDUCTION
#undef MESHMEM_REDUCTION_OF

template <CollectiveKind kind, typename E, typename Group>
MESHMEM_DEVICE int scan(const Group& group, shmem_team_t team, E* dest, const E* source,
                        std::size_t nreduce) {
  const Call call = Call::reduction<E>(kind, ReduceOp::sum, nreduce);
  if (spans_nodes(team)) return by_host(group, {call, kHostType<E>, team, dest, source, 1, 1});
  with_own_registers(group, sync_of(group, team, call, dest, source), [=](const TeamSync& sync) {
    scan(group, sync, MESHMEM_OPAQUE(dest, group), MESHMEM_OPAQUE(source, group),
         MESHMEM_OPAQUE(nreduce, group), kind == CollectiveKind::inscan);
  });
  return 0;
}
template <typename E, typename Group>
MESHMEM_DEVICE int sum_inscan(const Group& group, shmem_team_t team, E* dest, const E* source,
                              std::size_t nreduce) {
  return scan<CollectiveKind::inscan>(group, team, dest, source, nreduce);
}
template <typename E, typename Group>
MESHMEM_DEVICE int sum_exscan(const Group& group, shmem_team_t team, E* dest, const E* source,
                              std::size_t nreduce) {
  return scan<CollectiveKind::exscan>(group, team, dest, source, nreduce);
}

#if defined(MESHMEM_TARGET_IS_CPU)
// Reductions by one thread, which the library has compiled (by_one_thread.hpp).
#define MESHMEM_BY_ONE_THREAD(name, routine, form, op)                                             \
  template <typename E>                                                                            \
  MESHMEM_DEVICE std::enable_if_t<kIsByOneThread<E>, int> name(                                    \
      const Thread& thread, shmem_team_t team, E* dest, const E* source, std::size_t nreduce) {    \
    const Call call = Call::reduction<E>(CollectiveKind::routine, ReduceOp::op, nreduce);          \
    if (spans_nodes(team)) return by_host(thread, {call, kHostType<E>, team, dest, source, 1, 1}); \
    return by_one_thread(ReduceForm::form, ReduceOp::op,                                           \
                         sync_of(thread, team, call, dest, source), dest, source, nreduce);        \
  }
#define MESHMEM_REDUCTION_BY_ONE_THREAD(name, op)          \
  MESHMEM_BY_ONE_THREAD(name##_reduce, reduce, reduce, op) \
  MESHMEM_BY_ONE_THREAD(name##_reduce_scatter, reduce_scatter, scatter, op)
MESHMEM_REDUCE_OPS(MESHMEM_REDUCTION_BY_ONE_THREAD)
MESHMEM_BY_ONE_THREAD(sum_inscan, inscan, inclusive_scan, sum)
MESHMEM_BY_ONE_THREAD(sum_exscan, exscan, exclusive_scan, sum)
#undef MESHMEM_REDUCTION_BY_ONE_THREAD
#undef MESHMEM_BY_ONE_THREAD
#endif
#undef MESHMEM_REDUCE_OPS

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_ROUTINES_HPP_
