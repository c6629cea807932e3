// SPDX-License-Identifier: Apache-2.0
//
// Makes the table of all routines. A routine's kind follows from its operation's name in the tables
// of the public headers.
#include "tools/interpose/routines.hpp"

#include <iterator>

namespace meshmem::tracing {
namespace {

bool is_one_of(std::string_view op, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (op == name) return true;
  return false;
}

Kind kind_of_atomic(std::string_view op) {
  if (is_one_of(op, {"atomic_fetch", "atomic_fetch_nbi", "fetch"})) return Kind::fetch;
  return is_one_of(op, {"atomic_set", "set", "atomic_swap", "atomic_swap_nbi", "swap"})
             ? Kind::set
             : Kind::update;
}

Kind kind_of_wait(std::string_view op) {
  return op.find("_all") != op.npos || op.find("_any") != op.npos || op.find("_some") != op.npos
             ? Kind::wait_many
             : Kind::wait;
}

Kind kind_of(std::string_view op) {
  if (op.starts_with("put_signal")) return Kind::put_signal;
  if (op == "p") return Kind::set;
  if (is_one_of(op, {"put", "put_nbi", "iput", "ibput"})) return Kind::put;
  if (is_one_of(op, {"get", "get_nbi", "iget", "ibget", "g"})) return Kind::get;
  if (op.starts_with("atomic_") ||
      is_one_of(op, {"fetch", "set", "swap", "cswap", "finc", "inc", "fadd", "add"}))
    return kind_of_atomic(op);
  if (is_one_of(op, {"signal_set", "signal_add", "signal_op_on_stream"})) return Kind::signal;
  if (op == "set_lock" || op == "test_lock") return Kind::lock;
  if (op == "clear_lock") return Kind::unlock;
  if (op.starts_with("wait") || op.starts_with("test") || op.starts_with("signal_wait_until"))
    return kind_of_wait(op);
  if (op == "broadcast" || op == "set_broadcast") return Kind::broadcast;
  if (is_one_of(op, {"malloc", "free", "realloc", "align", "malloc_with_hints", "calloc", "init",
                     "init_thread", "init_attr", "init_mpi_comm", "finalize", "start_pes",
                     "buffer_register", "buffer_unregister", "align_with_hints"}))
    return Kind::allocation;
  if (op.starts_with("barrier") || op.starts_with("sync") || op.starts_with("team_sync") ||
      op.starts_with("team_split") || is_one_of(op, {"team_destroy", "heap_save", "heap_restore"}))
    return Kind::meeting;
  if (op.find("collect") != op.npos || op.find("alltoall") != op.npos ||
      op.find("_reduce") != op.npos || op.find("scan") != op.npos || op.find("_to_all") != op.npos)
    return Kind::collective;
  if (op.find("fence") != op.npos || op.find("quiet") != op.npos) return Kind::order;
  return Kind::other;
}

template <typename E>
[[gnu::noinline]] Routine make(std::string_view name, std::string_view op) {
  Routine made{name,
               kind_of(op),
               0,
               false,
               false,
               name.ends_with("_on_stream"),
               op.starts_with("test"),
               is_polled(op)};
  if (op.starts_with("reduce_plan")) made.kind = Kind::other;
  if constexpr (!std::is_void_v<E>) {
    if (!op.starts_with("alltoallv")) made.element_bytes = sizeof(E);  // its counts are in arrays
    made.is_signed = std::is_signed_v<E>;
    made.is_float = !std::is_integral_v<E>;
  } else if (name.starts_with("shmemx_half_") || name.starts_with("shmemx_bfloat16_")) {
    made.element_bytes = 2;
  }
  return made;
}

Routine own_work(std::string_view name) {
  return {name, Kind::own_work, 0, false, false, false, false, false};
}

// The table is made at the first call. As a constexpr it would exceed the number of evaluation
// steps that some compilers allow.
const Routine* make_table() {
  static const Routine table[] = {
#define ROUTINE(name, op, E, result, params, args) make<E>(#name, #op),
      MESHMEM_TRACED_ROUTINES
#undef ROUTINE
          make<void>("shmem_global_exit", "global_exit"),
      own_work("(take in messages)"),
      own_work("(serve kernels)"),
  };
  static_assert(std::size(table) == kRoutines);
  return table;
}

}  // namespace

const Routine& routine(unsigned number) {
  static const Routine* const table = make_table();
  return table[number];
}

}  // namespace meshmem::tracing
