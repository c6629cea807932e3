// SPDX-License-Identifier: Apache-2.0
//
// The routines that take their place on a stream (include/shmemx.h), with their types dropped.
// Invariant: a routine that finds no device, or no kernels that reach all PEs, ends the job.
#include <memory>

#include "api/entry.hpp"
#include "collectives/kernel_reduction.hpp"
#include "collectives/stream_collectives.hpp"
#include "core/stream_transfers.hpp"
#include "shmemx.h"

namespace meshmem {
namespace {

hipStream_t stream_of(shmemx_stream_t stream) { return reinterpret_cast<hipStream_t>(stream); }

on_stream::StreamCall call_on(shmemx_stream_t stream, const char* routine) {
  require_active(routine);
  on_stream::require_device(routine);
  return {routine, stream_of(stream)};
}

Team& team_for_kernels(shmem_team_t handle, const char* routine) {
  require_active(routine);
  on_stream::require_device(routine);
  Team& team = collective_team(handle, routine);
  on_stream::require_kernels(team);
  return team;
}

}  // namespace

MESHMEM_EXTENSION_ENTRY(void, putmem_on_stream,
                        (void* dest, const void* source, std::size_t nbytes, int pe,
                         shmemx_stream_t stream)) {
  on_stream::put(call_on(stream, "shmemx_putmem_on_stream"), dest, source, nbytes, pe);
}
MESHMEM_EXTENSION_ENTRY(void, getmem_on_stream,
                        (void* dest, const void* source, std::size_t nbytes, int pe,
                         shmemx_stream_t stream)) {
  on_stream::get(call_on(stream, "shmemx_getmem_on_stream"), dest, source, nbytes, pe);
}
MESHMEM_EXTENSION_ENTRY(void, putmem_signal_on_stream,
                        (void* dest, const void* source, std::size_t nbytes,
                         std::uint64_t* sig_addr, std::uint64_t signal, int sig_op, int pe,
                         shmemx_stream_t stream)) {
  on_stream::put_signal(call_on(stream, "shmemx_putmem_signal_on_stream"), dest, source, nbytes,
                        {sig_addr, signal, sig_op}, pe);
}
MESHMEM_EXTENSION_ENTRY(void, signal_op_on_stream,
                        (std::uint64_t * sig_addr, std::uint64_t signal, int sig_op, int pe,
                         shmemx_stream_t stream)) {
  on_stream::update_signal(call_on(stream, "shmemx_signal_op_on_stream"),
                           {sig_addr, signal, sig_op}, pe);
}
MESHMEM_EXTENSION_ENTRY(void, signal_wait_until_on_stream,
                        (std::uint64_t * sig_addr, int cmp, std::uint64_t cmp_value,
                         shmemx_stream_t stream)) {
  on_stream::wait_until(call_on(stream, "shmemx_signal_wait_until_on_stream"), sig_addr, cmp,
                        cmp_value);
}
MESHMEM_EXTENSION_ENTRY(void, quiet_on_stream, (shmemx_stream_t stream)) {
  on_stream::quiet(call_on(stream, "shmemx_quiet_on_stream"));
}

MESHMEM_EXTENSION_ENTRY(void, stream_mark, (shmemx_mark_t * mark, shmemx_stream_t stream)) {
  auto* set = reinterpret_cast<StreamMark*>(*mark);
  on_stream::set_mark(set, call_on(stream, "shmemx_stream_mark").stream);
  *mark = reinterpret_cast<shmemx_mark_t>(set);
}
MESHMEM_EXTENSION_ENTRY(void, stream_mark_wait, (shmemx_mark_t * mark)) {
  require_active("shmemx_stream_mark_wait");
  const std::unique_ptr<StreamMark> set(reinterpret_cast<StreamMark*>(*mark));
  *mark = nullptr;
  if (set) set->wait("shmemx_stream_mark_wait");
}

MESHMEM_EXTENSION_ENTRY(void, barrier_all_on_stream, (shmemx_stream_t stream)) {
  on_stream::sync(team_for_kernels(SHMEM_TEAM_WORLD, "shmemx_barrier_all_on_stream"),
                  stream_of(stream));
}
MESHMEM_EXTENSION_ENTRY(int, team_sync_on_stream, (shmem_team_t handle, shmemx_stream_t stream)) {
  on_stream::sync(team_for_kernels(handle, "shmemx_team_sync_on_stream"), stream_of(stream));
  return 0;
}
MESHMEM_EXTENSION_ENTRY(int, broadcastmem_on_stream,
                        (shmem_team_t handle, void* dest, const void* source, std::size_t nbytes,
                         int PE_root, shmemx_stream_t stream)) {
  on_stream::broadcast(team_for_kernels(handle, "shmemx_broadcastmem_on_stream"), dest, source,
                       nbytes, PE_root, stream_of(stream));
  return 0;
}
MESHMEM_EXTENSION_ENTRY(int, fcollectmem_on_stream,
                        (shmem_team_t handle, void* dest, const void* source, std::size_t nbytes,
                         shmemx_stream_t stream)) {
  on_stream::fcollect(team_for_kernels(handle, "shmemx_fcollectmem_on_stream"), dest, source,
                      nbytes, stream_of(stream));
  return 0;
}
MESHMEM_EXTENSION_ENTRY(int, collectmem_on_stream,
                        (shmem_team_t handle, void* dest, const void* source, std::size_t nbytes,
                         shmemx_stream_t stream)) {
  on_stream::collect(team_for_kernels(handle, "shmemx_collectmem_on_stream"), dest, source, nbytes,
                     stream_of(stream));
  return 0;
}
MESHMEM_EXTENSION_ENTRY(int, alltoallmem_on_stream,
                        (shmem_team_t handle, void* dest, const void* source, std::size_t nbytes,
                         shmemx_stream_t stream)) {
  on_stream::alltoall(team_for_kernels(handle, "shmemx_alltoallmem_on_stream"), dest, source,
                      nbytes, stream_of(stream));
  return 0;
}

namespace {

using on_stream::Computation;
using Kind = Computation::Kind;

int compute(const char* routine, shmem_team_t handle, const Computation& computation, void* dest,
            const void* source, std::size_t count, shmemx_stream_t stream) {
  on_stream::compute(team_for_kernels(handle, routine), computation, dest, source, count,
                     stream_of(stream));
  return 0;
}

#define COMPUTATION(name, op, what)   \
  template <typename E>               \
  constexpr Computation of_##name() { \
    return {op, Kind::what};          \
  }
#define REDUCTION(name, op) \
  COMPUTATION(name##_reduce, op, reduce) COMPUTATION(name##_reduce_scatter, op, scatter)
REDUCTION(sum, (kernel_reduction<Sum, E>()))
REDUCTION(prod, (kernel_reduction<Product, E>()))
REDUCTION(max, (kernel_reduction<Max, E>()))
REDUCTION(min, (kernel_reduction<Min, E>()))
REDUCTION(and, (kernel_reduction<And, E>()))
REDUCTION(or, (kernel_reduction<Or, E>()))
REDUCTION(xor, (kernel_reduction<Xor, E>()))
REDUCTION(avg, kernel_average<E>())
COMPUTATION(sum_inscan, (kernel_reduction<Sum, E>()), inscan)
COMPUTATION(sum_exscan, (kernel_reduction<Sum, E>()), exscan)
#undef REDUCTION
#undef COMPUTATION

}  // namespace

#define DEFINE_ON_STREAM(name, op, E, result, params, args) \
  DEFINE_COMPUTED(name, op, E, result, params)
#define DEFINE_HALF(name, op, E, result, params, args) \
  DEFINE_COMPUTED(name, op, Half, result, params)
#define DEFINE_BFLOAT16(name, op, E, result, params, args) \
  DEFINE_COMPUTED(name, op, Bfloat16, result, params)
#define DEFINE_COMPUTED(name, op, Elem, result, params)                                        \
  MESHMEM_EXTENSION_ENTRY(result, name##_on_stream, MESHMEM_WITH_STREAM params) {              \
    return compute("shmemx_" #name "_on_stream", team, of_##op<Elem>(), dest, source, nreduce, \
                   stream);                                                                    \
  }
MESHMEM_COMPUTED_ON_STREAM(DEFINE_ON_STREAM, MESHMEM_IN)
MESHMEM_SHORT_REDUCTIONS(DEFINE_HALF, half, void)
MESHMEM_SHORT_REDUCTIONS(DEFINE_BFLOAT16, bfloat16, void)
#undef DEFINE_ON_STREAM
#undef DEFINE_HALF
#undef DEFINE_BFLOAT16
#undef DEFINE_COMPUTED

}  // namespace meshmem
