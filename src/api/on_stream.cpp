// SPDX-License-Identifier: Apache-2.0
//
// The routines that take their place on a stream (include/shmemx.h), with their types dropped.
// Invariant: a routine that finds no device, or no kernels that reach all PEs, ends the job.
#include "collectives/device/on_stream.hpp"

#include <cstring>
#include <memory>

#include "api/entry.hpp"
#include "collectives/combine.hpp"
#include "collectives/device/short_floats.hpp"
#include "core/stream_transfers.hpp"
#include "device/operations.hpp"
#include "memory/argument_checks.hpp"
#include "shmemx.h"

namespace meshmem {
namespace {

hipStream_t stream_of(shmemx_stream_t handle, const char* routine) {
  const auto stream = reinterpret_cast<hipStream_t>(handle);
  on_stream::require_own_stream(routine, stream);
  return stream;
}

on_stream::StreamCall call_on(shmemx_stream_t stream, const char* routine) {
  require_active(routine);
  on_stream::require_device(routine);
  return {routine, stream_of(stream, routine)};
}

Team& team_for_kernels(shmem_team_t handle, const char* routine) {
  require_active(routine);
  on_stream::require_device(routine);
  Team& team = collective_team(handle, routine);
  on_stream::require_kernels(team);
  return team;
}

int run_on_stream(const char* routine, shmem_team_t handle, const Collective& call,
                  shmemx_stream_t stream) {
  Team& team = team_for_kernels(handle, routine);
  on_stream::run(team, call, stream_of(stream, routine));
  return 0;
}

}  // namespace

MESHMEM_EXTENSION_ENTRY(void, signal_op_on_stream,
                        (std::uint64_t * sig_addr, std::uint64_t signal, int sig_op, int pe,
                         shmemx_stream_t stream)) {
  on_stream::update_signal(call_on(stream, "shmemx_signal_op_on_stream"),
                           {sig_addr, signal, sig_op}, pe);
}
MESHMEM_EXTENSION_ENTRY(void, signal_wait_until_on_stream,
                        (std::uint64_t * sig_addr, int cmp, std::uint64_t cmp_value,
                         shmemx_stream_t stream)) {
  on_stream::wait_until(call_on(stream, "shmemx_signal_wait_until_on_stream"), sig_addr,
                        device::ElemType::u64, sizeof *sig_addr, cmp, {{cmp_value, 0}});
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
  constexpr auto kRoutine = "shmemx_barrier_all_on_stream";
  run_on_stream(kRoutine, SHMEM_TEAM_WORLD, {.kind = CollectiveKind::sync}, stream);
}
MESHMEM_EXTENSION_ENTRY(int, team_sync_on_stream, (shmem_team_t handle, shmemx_stream_t stream)) {
  constexpr auto kRoutine = "shmemx_team_sync_on_stream";
  return run_on_stream(kRoutine, handle, {.kind = CollectiveKind::sync}, stream);
}
MESHMEM_EXTENSION_ENTRY(void, sync_all_on_stream, (shmemx_stream_t stream)) {
  constexpr auto kRoutine = "shmemx_sync_all_on_stream";
  run_on_stream(kRoutine, SHMEM_TEAM_WORLD, {.kind = CollectiveKind::sync}, stream);
}

namespace {

// A routine of the tables, by name, and the stream of its call.
struct Row {
  const char* routine;
  shmemx_stream_t stream;

  on_stream::StreamCall call() const { return call_on(stream, routine); }
  int run(shmem_team_t team, const Collective& call) const {
    return run_on_stream(routine, team, call, stream);
  }
  template <typename E>
  std::size_t bytes(std::size_t nelems) const {
    return bytes_of(routine, nelems, sizeof(E));
  }
};

template <typename E>
device::Scalar scalar_of(E value) {
  device::Scalar scalar{};
  std::memcpy(&scalar, &value, sizeof value);
  return scalar;
}

template <typename E>
void put(Row row, void* dest, const void* source, std::size_t nelems, int pe) {
  on_stream::put(row.call(), dest, source, row.bytes<E>(nelems), pe);
}
template <typename E>
void get(Row row, void* dest, const void* source, std::size_t nelems, int pe) {
  on_stream::get(row.call(), dest, source, row.bytes<E>(nelems), pe);
}
template <typename E>
void put_signal(Row row, void* dest, const void* source, std::size_t nelems,
                std::uint64_t* sig_addr, std::uint64_t signal, int sig_op, int pe) {
  on_stream::put_signal(row.call(), dest, source, row.bytes<E>(nelems), {sig_addr, signal, sig_op},
                        pe);
}
template <typename E>
void p(Row row, E* dest, E value, int pe) {
  on_stream::store(row.call(), dest, scalar_of(value), sizeof value, pe);
}
template <typename E>
void wait_until(Row row, const E* ivar, int cmp, E cmp_value) {
  on_stream::wait_until(row.call(), ivar, device::elem_type_of<E>(), sizeof *ivar, cmp,
                        scalar_of(cmp_value));
}

template <typename E>
int broadcast(Row row, shmem_team_t team, void* dest, const void* source, std::size_t nelems,
              int PE_root) {
  return row.run(team,
                 moving(CollectiveKind::broadcast, dest, source, row.bytes<E>(nelems), PE_root));
}
template <typename E>
int fcollect(Row row, shmem_team_t team, void* dest, const void* source, std::size_t nelems) {
  return row.run(team, moving(CollectiveKind::fcollect, dest, source, row.bytes<E>(nelems)));
}
template <typename E>
int collect(Row row, shmem_team_t team, void* dest, const void* source, std::size_t nelems) {
  return row.run(team, moving(CollectiveKind::collect, dest, source, row.bytes<E>(nelems)));
}
template <typename E>
int alltoall(Row row, shmem_team_t team, void* dest, const void* source, std::size_t nelems) {
  return row.run(team, alltoall_of(dest, source, sizeof(E), nelems));
}
template <typename E>
int alltoallv(Row row, shmem_team_t team, void* dest, const std::size_t* dest_nelems,
              const std::size_t* dest_displs, const void* source, const std::size_t* source_nelems,
              const std::size_t* source_displs) {
  const device::Alltoallv call{
      dest, {dest_nelems, dest_displs}, source, {source_nelems, source_displs}, sizeof(E)};
  return row.run(team, alltoallv_of(call));
}

}  // namespace

#define DEFINE_MOVED(name, op, E, result, params, args)                           \
  MESHMEM_EXTENSION_ENTRY(result, name##_on_stream, MESHMEM_WITH_STREAM params) { \
    return op<E>(Row{"shmemx_" #name "_on_stream", stream}, MESHMEM_UNWRAP args); \
  }
MESHMEM_MOVED_ON_STREAM(DEFINE_MOVED, MESHMEM_IN)
MESHMEM_UNTYPED_ON_STREAM(DEFINE_MOVED)
#undef DEFINE_MOVED

namespace {

// A reduction or scan in the tables.
struct Combining {
  Reduction op;
  CollectiveKind kind;
};

int combine(const char* routine, shmem_team_t team, const Combining& row, void* dest,
            const void* source, std::size_t count, shmemx_stream_t stream) {
  return run_on_stream(routine, team, combining(row.kind, row.op, dest, source, count), stream);
}

#define COMBINING(name, kind, op)      \
  template <typename E>                \
  constexpr Combining of_##name() {    \
    return {op, CollectiveKind::kind}; \
  }
MESHMEM_COMBINING(COMBINING)
#undef COMBINING

}  // namespace

#define DEFINE_ON_STREAM(name, op, E, result, params, args) \
  DEFINE_COMPUTED(name, op, E, result, params)
#define DEFINE_HALF(name, op, E, result, params, args) \
  DEFINE_COMPUTED(name, op, Half, result, params)
#define DEFINE_BFLOAT16(name, op, E, result, params, args) \
  DEFINE_COMPUTED(name, op, Bfloat16, result, params)
#define DEFINE_COMPUTED(name, op, Elem, result, params)                                        \
  MESHMEM_EXTENSION_ENTRY(result, name##_on_stream, MESHMEM_WITH_STREAM params) {              \
    return combine("shmemx_" #name "_on_stream", team, of_##op<Elem>(), dest, source, nreduce, \
                   stream);                                                                    \
  }
MESHMEM_COMPUTED_ON_STREAM(DEFINE_ON_STREAM, MESHMEM_IN)
MESHMEM_LOCATED(DEFINE_ON_STREAM)
MESHMEM_SHORT_REDUCTIONS(DEFINE_HALF, half, void)
MESHMEM_SHORT_REDUCTIONS(DEFINE_BFLOAT16, bfloat16, void)
#undef DEFINE_ON_STREAM
#undef DEFINE_HALF
#undef DEFINE_BFLOAT16
#undef DEFINE_COMPUTED

}  // namespace meshmem
