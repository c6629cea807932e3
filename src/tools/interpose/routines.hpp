// SPDX-License-Identifier: Apache-2.0
//
// Every routine of the API by number, with what a trace knows of it beforehand: its name, what kind
// of call it is, and its elements. Read from the tables of the public headers.
// Invariant: the numbers are those of one version of the library. Read by the wrappers (entries)
// and by those who read records (join).
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
  fetch,      // one that does not
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
  bool tests;      // a wait that does not wait
};

// MESHMEM_TRACED_ROUTINES(F): F(whole name, op, E, result, params, args) for every routine.
#define MESHMEM_TRACED_ROUTINES(STANDARD, STANDARD_CTX, NAMED, EXTENSION, ON_STREAM) \
  MESHMEM_ALL_ROUTINES(STANDARD_CTX, STANDARD)                                       \
  MESHMEM_DEPRECATED(STANDARD)                                                       \
  MESHMEM_DEPRECATED_LONG_WAIT_UNTIL(STANDARD)                                       \
  MESHMEM_DEPRECATED_NAMES(NAMED)                                                    \
  MESHMEM_ALL_EXTENSIONS(EXTENSION, ON_STREAM)

enum Number : std::uint16_t {
#define NUMBER(name, op, E, result, params, args) k_shmem_##name,
#define NUMBER_CTX(name, op, E, result, params, args) k_shmem_##name, k_shmem_ctx_##name,
#define NUMBER_NAMED(name, op, E, result, params, args) k_##name,
#define NUMBER_EXTENSION(name, op, E, result, params, args) k_shmemx_##name,
#define NUMBER_ON_STREAM(name, op, E, result, params, args) k_shmemx_##name##_on_stream,
  MESHMEM_TRACED_ROUTINES(NUMBER, NUMBER_CTX, NUMBER_NAMED, NUMBER_EXTENSION, NUMBER_ON_STREAM)
#undef NUMBER
#undef NUMBER_CTX
#undef NUMBER_NAMED
#undef NUMBER_EXTENSION
#undef NUMBER_ON_STREAM
      k_shmem_global_exit,
  // No routines: the rows of OwnWork, in its order.
  k_take_in_messages,
  k_serve_kernels,
  kRoutines
};

const Routine& routine(unsigned number);  // less than kRoutines

// Whether a program may call it in a loop until something changes.
constexpr bool is_polled(std::string_view op) {
  return op.starts_with("test") || op == "signal_fetch" || op == "atomic_fetch" || op == "fetch" ||
         op == "g" || op == "my_pe" || op == "n_pes";
}

}  // namespace meshmem::tracing

#endif  // MESHMEM_TOOLS_INTERPOSE_ROUTINES_HPP_
