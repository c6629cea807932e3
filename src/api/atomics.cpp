// SPDX-License-Identifier: Apache-2.0
//
// Defines the atomic memory operations (OpenSHMEM 1.6, section 9.7) from the rows of shmem/types.h
// and shmem/ops.h. Invariant: a deprecated name does the same as the newer one.
#include "api/entry.hpp"
#include "one_sided/atomic_access.hpp"

namespace meshmem {
namespace {

#define OLDER_NAME(name, op)                     \
  template <typename E, typename... Rest>        \
  auto name(const char* routine, Rest... rest) { \
    return op<E>(Call{routine}, rest...);        \
  }
OLDER_NAME(fetch, atomic_fetch)
OLDER_NAME(set, atomic_set)
OLDER_NAME(swap, atomic_swap)
OLDER_NAME(cswap, atomic_compare_swap)
OLDER_NAME(finc, atomic_fetch_inc)
OLDER_NAME(inc, atomic_inc)
OLDER_NAME(fadd, atomic_fetch_add)
OLDER_NAME(add, atomic_add)
#undef OLDER_NAME

}  // namespace

#define ATOMIC(name, op, E, result, params, args)                                                  \
  MESHMEM_ENTRY(result, name, params) { return op<E>(Call{"shmem_" #name}, MESHMEM_UNWRAP args); } \
  MESHMEM_ENTRY(result, ctx_##name, MESHMEM_WITH_CTX params) {                                     \
    return op<E>(CallInContext{"shmem_ctx_" #name, ctx}, MESHMEM_UNWRAP args);                     \
  }
#define ATOMICS_OF_TYPE(NAME, TYPE, rma, ext, amo, bit, arith, logic, unused) \
  MESHMEM_IN_##ext(MESHMEM_OPS_ATOMIC_EXT(ATOMIC, NAME##_, TYPE))             \
      MESHMEM_IN_##amo(MESHMEM_OPS_ATOMIC_STD(ATOMIC, NAME##_, TYPE))         \
          MESHMEM_IN_##bit(MESHMEM_OPS_ATOMIC_BIT(ATOMIC, NAME##_, TYPE))
MESHMEM_TYPES(ATOMICS_OF_TYPE, )
#undef ATOMIC
#undef ATOMICS_OF_TYPE

#define OLDER_ATOMIC(name, op, E, result, params, args) \
  MESHMEM_ENTRY(result, name, params) { return op<E>("shmem_" #name, MESHMEM_UNWRAP args); }
#define OLDER_ATOMICS_OF_TYPE(NAME, TYPE, old, sum, wait, until, logic, order, arith, unused) \
  MESHMEM_IN_##old(MESHMEM_OPS_DEPRECATED_OLD(OLDER_ATOMIC, NAME##_, TYPE))                   \
      MESHMEM_IN_##sum(MESHMEM_OPS_DEPRECATED_SUM(OLDER_ATOMIC, NAME##_, TYPE))
MESHMEM_DEPRECATED_TYPES(OLDER_ATOMICS_OF_TYPE, )
#undef OLDER_ATOMIC
#undef OLDER_ATOMICS_OF_TYPE

}  // namespace meshmem
