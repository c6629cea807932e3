// SPDX-License-Identifier: Apache-2.0
//
// Where MESHMEM_TRACE is built in: the pair of names of every routine, around the body that its
// entry point defines (entry.hpp). Read from the tables, so that a routine that is new is traced.
// Invariant: a call of the program is one span; nothing is here in a library without traces.
#include "base/trace.hpp"

#if MESHMEM_TRACE

#include "api/entry.hpp"

namespace meshmem {

#define TRACED(whole_name, result, params, args)           \
  extern "C" result untraced_##whole_name params;          \
  extern "C" MESHMEM_VISIBLE result whole_name params      \
      __attribute__((weak, alias("p" #whole_name)));       \
  extern "C" MESHMEM_VISIBLE result p##whole_name params { \
    const TraceSpan span(#whole_name);                     \
    return untraced_##whole_name args;                     \
  }
#define ROUTINE(name, op, E, result, params, args) TRACED(shmem_##name, result, params, args)
#define ROUTINE_CTX(name, op, E, result, params, args) \
  TRACED(shmem_##name, result, params, args)           \
  TRACED(shmem_ctx_##name, result, MESHMEM_WITH_CTX params, MESHMEM_PASS_CTX args)
#define NAMED(name, op, E, result, params, args) TRACED(name, result, params, args)
#define EXTENSION(name, op, E, result, params, args) TRACED(shmemx_##name, result, params, args)
#define ON_STREAM(name, op, E, result, params, args) \
  TRACED(shmemx_##name##_on_stream, result, MESHMEM_WITH_STREAM params, MESHMEM_PASS_STREAM args)
MESHMEM_ALL_ROUTINES(ROUTINE_CTX, ROUTINE)
MESHMEM_DEPRECATED(ROUTINE)
MESHMEM_DEPRECATED_NAMES(NAMED)
MESHMEM_ALL_EXTENSIONS(EXTENSION, ON_STREAM)
TRACED(shmem_global_exit, void, (int status), (status))  // of no row, since it does not return
#undef TRACED
#undef ROUTINE
#undef ROUTINE_CTX
#undef NAMED
#undef EXTENSION
#undef ON_STREAM

}  // namespace meshmem

#endif
