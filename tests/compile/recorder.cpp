// SPDX-License-Identifier: Apache-2.0
//
// Stands in for the library in the test of the type-generic routines: each routine does nothing but
// note its name. Read from the tables, so that whatever a generic may select is there. Called by
// generics.c.
#include <shmem.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

extern "C" {
const char* last_called = "";
}

namespace {
template <class Result>
Result nothing() {
  return Result();
}
}  // namespace

#define RECORD(name, op, E, result, params, args) \
  result shmem_##name params {                    \
    last_called = "shmem_" #name;                 \
    return nothing<result>();                     \
  }
#define RECORD_CTX(name, op, E, result, params, args) \
  RECORD(name, op, E, result, params, args)           \
  RECORD(ctx_##name, op, E, result, MESHMEM_WITH_CTX params, args)
// In C++ an overload has its name and type.
#define RECORD_FOR_C(name, op, E, result, params, args)          \
  extern "C" result name##_for_c params __asm__("shmem_" #name); \
  result name##_for_c params { last_called = "shmem_" #name; }
MESHMEM_ALL_ROUTINES(RECORD_CTX, RECORD)
MESHMEM_OPS_WAITS_OF_MANY(RECORD, short_, short)
MESHMEM_OPS_WAITS_OF_MANY(RECORD, ushort_, unsigned short)
MESHMEM_DEPRECATED(RECORD)
MESHMEM_DEPRECATED_LONG_WAIT_UNTIL(RECORD_FOR_C)
#undef RECORD
#undef RECORD_CTX
#undef RECORD_FOR_C
