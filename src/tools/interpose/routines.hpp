// SPDX-License-Identifier: Apache-2.0
//
// Every routine of the API by number, with what a trace knows of it beforehand: its name, what kind
// of call it is, and its elements. Read from the tables of the public headers.
// Invariant: the numbers are those of one version of the library. Read by the wrappers and by the
// code that reads their records.
#ifndef MESHMEM_TOOLS_INTERPOSE_ROUTINES_HPP_
#define MESHMEM_TOOLS_INTERPOSE_ROUTINES_HPP_

#include <pshmem.h>
#include <pshmemx.h>

#include <cstdint>
#include <string_view>
#include <type_traits>

namespace meshmem::tracing {

enum class Kind : std::uint8_t {
  other,
  put,
  put_signal,
  signal,
  get,
  set,        // an atomic that stores `value`, as does p
  update,     // another atomic that stores
  fetch,      // an atomic that does not store
  wait,       // for one variable
  wait_many,  // for several: `count`
  collective,
  broadcast,   // a collective in which all wait for one PE
  allocation,  // a collective of all PEs, as are init and finalize
  meeting,     // a collective that moves no data
  order,       // fence and quiet
  lock,
  unlock,
  own_work  // of a thread of the library
};

struct Routine {
  std::string_view name;
  Kind kind;
  std::uint16_t element_bytes;
  bool is_signed, is_float;
  bool on_stream;  // returns before the work is done
  bool tests;      // looks once instead of waiting
  bool is_polled;  // see below
};

// ROUTINE(whole name, op, E, result, params, args) for every routine. The user defines ROUTINE.
#define MESHMEM_WRAPPED(name, ...) ROUTINE(shmem_##name, __VA_ARGS__)
#define MESHMEM_WRAPPED_CTX(name, op, E, result, params, args) \
  ROUTINE(shmem_##name, op, E, result, params, args)           \
  ROUTINE(shmem_ctx_##name, op, E, result, MESHMEM_WITH_CTX params, MESHMEM_PASS_CTX args)
#define MESHMEM_ROUTINE_NAMED(...) ROUTINE(__VA_ARGS__)
#define MESHMEM_ROUTINE_EXTENSION(name, ...) ROUTINE(shmemx_##name, __VA_ARGS__)
#define MESHMEM_ROUTINE_ON_STREAM(name, op, E, result, params, args)            \
  ROUTINE(shmemx_##name##_on_stream, op, E, result, MESHMEM_WITH_STREAM params, \
          MESHMEM_PASS_STREAM args)
#define MESHMEM_TRACED_ROUTINES                              \
  MESHMEM_ALL_ROUTINES(MESHMEM_WRAPPED_CTX, MESHMEM_WRAPPED) \
  MESHMEM_DEPRECATED(MESHMEM_WRAPPED)                        \
  MESHMEM_DEPRECATED_LONG_WAIT_UNTIL(MESHMEM_WRAPPED)        \
  MESHMEM_DEPRECATED_NAMES(MESHMEM_ROUTINE_NAMED)            \
  MESHMEM_ALL_EXTENSIONS(MESHMEM_ROUTINE_EXTENSION, MESHMEM_ROUTINE_ON_STREAM)

enum Number : std::uint16_t {
#define ROUTINE(name, op, E, result, params, args) k_##name,
  MESHMEM_TRACED_ROUTINES
#undef ROUTINE
      k_shmem_global_exit,
  // These are no routines but the values of OwnWork (base/hooks/trace_job.hpp), in its order.
  k_take_in_messages,
  k_serve_kernels,
  kRoutines
};

const Routine& routine(unsigned number);  // less than kRoutines

// Whether programs call it very often: in a loop until something changes, or for a PE's number.
constexpr bool is_polled(std::string_view op) {
  return op.starts_with("test") || op == "signal_fetch" || op == "atomic_fetch" || op == "fetch" ||
         op == "g" || op == "my_pe" || op == "n_pes";
}

}  // namespace meshmem::tracing

#endif  // MESHMEM_TOOLS_INTERPOSE_ROUTINES_HPP_
