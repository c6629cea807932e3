// SPDX-License-Identifier: Apache-2.0
//
// Remote memory access (OpenSHMEM 1.6, section 9.6), read from the tables. Invariant: a routine and
// its form with a context differ only in the team by which PEs are numbered.
#include "api/entry.hpp"
#include "one_sided/element_access.hpp"

namespace meshmem {
#define RMA(name, op, E, result, params, args)                                                     \
  MESHMEM_ENTRY(result, name, params) { return op<E>(Call{"shmem_" #name}, MESHMEM_UNWRAP args); } \
  MESHMEM_ENTRY(result, ctx_##name, MESHMEM_WITH_CTX params) {                                     \
    return op<E>(CallInContext{"shmem_ctx_" #name, ctx}, MESHMEM_UNWRAP args);                     \
  }
#define RMA_OF_TYPE(NAME, TYPE, rma, ext, amo, bit, arith, logic, unused) \
  MESHMEM_IN_##rma(MESHMEM_OPS_RMA(RMA, NAME##_, , TYPE, TYPE))           \
      MESHMEM_IN_##rma(MESHMEM_OPS_STRIDED(RMA, NAME##_, , TYPE, TYPE))   \
          MESHMEM_IN_##rma(MESHMEM_OPS_SINGLE(RMA, NAME##_, TYPE))
#define RMA_OF_SIZE(BITS, E, unused)    \
  MESHMEM_OPS_RMA(RMA, , BITS, E, void) \
  MESHMEM_OPS_STRIDED(RMA, , BITS, E, void)
MESHMEM_TYPES(RMA_OF_TYPE, )
MESHMEM_SIZES(RMA_OF_SIZE, )
MESHMEM_OPS_RMA(RMA, , mem, char, void)
#undef RMA
#undef RMA_OF_TYPE
#undef RMA_OF_SIZE

}  // namespace meshmem
