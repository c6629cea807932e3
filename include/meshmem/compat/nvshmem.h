/* SPDX-License-Identifier: Apache-2.0
 *
 * The names of NVSHMEM for programs that were written for it, in C++17: each is this library's
 * routine. docs/porting.md says family by family what there is and what differs.
 * Invariant: families are read from shmem/ops.h; a name that this library cannot have is a
 * compile-time error with a reason (nvshmemx.h). For kernels include it where oshhip compiles.
 */
#ifndef MESHMEM_COMPAT_NVSHMEM_H
#define MESHMEM_COMPAT_NVSHMEM_H

#ifndef __cplusplus
#error "meshmem/compat/nvshmem.h is for C++17; in C include <shmem.h>, whose names have no nv"
#endif

#include <assert.h> /* NVSHMEM has it too, and programs rely on it */
#include <stdio.h>

#include "meshmem/compat/forward.hpp"

/* The version of NVSHMEM whose names these are. */
#define NVSHMEM_VENDOR_MAJOR_VERSION 3
#define NVSHMEM_VENDOR_MINOR_VERSION 8
#define NVSHMEM_VENDOR_PATCH_VERSION 0
#define NVSHMEM_VENDOR_PACKAGE_VERSION 0
#define NVSHMEM_VENDOR_VERSION                                                 \
  (NVSHMEM_VENDOR_MAJOR_VERSION * 10000 + NVSHMEM_VENDOR_MINOR_VERSION * 100 + \
   NVSHMEM_VENDOR_PATCH_VERSION)
#define NVSHMEM_VENDOR_BASE_VERSION_STRING "3.8.0"
#define NVSHMEM_VENDOR_NUMERIC_VERSION_STRING "3.8.0.0"
#define NVSHMEM_VENDOR_ARTIFACT_VERSION_STRING "3.8.0"
#define NVSHMEM_VENDOR_PACKAGE_VERSION_STRING "3.8.0"
#define NVSHMEM_VENDOR_PACKAGE_RELEASE_STRING "0"
#define NVSHMEM_VENDOR_RPM_PACKAGE_VERSION_STRING "3.8.0"
#define NVSHMEM_VENDOR_RPM_PACKAGE_RELEASE_STRING "0"
#define NVSHMEM_VENDOR_VERSION_STAGE "release"
#define NVSHMEM_VENDOR_VERSION_STAGE_NUMBER ""
/* Programs check calls of CUDA by macros of their own around this one. */
#define NVSHMEMI_ERROR_PRINT(...)                                      \
  ((void)fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, __func__), \
   (void)fprintf(stderr, __VA_ARGS__), (void)fputc('\n', stderr))

#define NVSHMEM_MAJOR_VERSION SHMEM_MAJOR_VERSION
#define NVSHMEM_MINOR_VERSION SHMEM_MINOR_VERSION
#define NVSHMEM_MAX_NAME_LEN SHMEM_MAX_NAME_LEN
#define NVSHMEM_VENDOR_STRING SHMEM_VENDOR_STRING
#define NVSHMEM_THREAD_SINGLE SHMEM_THREAD_SINGLE
#define NVSHMEM_THREAD_FUNNELED SHMEM_THREAD_FUNNELED
#define NVSHMEM_THREAD_SERIALIZED SHMEM_THREAD_SERIALIZED
#define NVSHMEM_THREAD_MULTIPLE SHMEM_THREAD_MULTIPLE
#define NVSHMEM_CMP_EQ SHMEM_CMP_EQ
#define NVSHMEM_CMP_NE SHMEM_CMP_NE
#define NVSHMEM_CMP_GT SHMEM_CMP_GT
#define NVSHMEM_CMP_GE SHMEM_CMP_GE
#define NVSHMEM_CMP_LT SHMEM_CMP_LT
#define NVSHMEM_CMP_LE SHMEM_CMP_LE
#define NVSHMEM_SIGNAL_SET SHMEM_SIGNAL_SET
#define NVSHMEM_SIGNAL_ADD SHMEM_SIGNAL_ADD
#define NVSHMEM_TEAM_INVALID SHMEM_TEAM_INVALID
#define NVSHMEM_TEAM_WORLD SHMEM_TEAM_WORLD
#define NVSHMEM_TEAM_SHARED SHMEM_TEAM_SHARED
#define NVSHMEMX_TEAM_NODE SHMEM_TEAM_SHARED
#define NVSHMEMX_TEAM_SAME_MYPE_NODE ((shmem_team_t)MESHMEM_COMPAT_TEAM_SAME_NUMBER)
#define NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS SHMEM_TEAM_NUM_CONTEXTS
#define NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID (1L << 1)
#define NVSHMEM_TEAM_CONFIG_INITIALIZER \
  { {0}, 0 }

/* No routine takes one; programs compare numbers of PEs with them. */
enum nvshmem_pe_index_t {
  NVSHMEM_PE_INVALID = -1,
  NVSHMEMX_PE_ANY = 1 << 15,
  NVSHMEMX_PE_ALL = NVSHMEMX_PE_ANY
};

typedef shmem_team_t nvshmem_team_t;
typedef shmem_team_t nvshmemx_team_t;
typedef uint64_t nvshmemx_team_uniqueid_t;
struct nvshmem_team_config_t : shmem_team_config_t {
  nvshmemx_team_uniqueid_t uniqueid; /* for nvshmemx_team_init */
};

/* ---- Set-up, memory and teams, by the host. Memory is the device's. */
inline void nvshmem_init() {
  shmemx_start_under_names_of(SHMEMX_NAMES_OF_NVSHMEM);
  shmem_init();
}
inline int nvshmem_init_thread(int requested, int* provided) {
  shmemx_start_under_names_of(SHMEMX_NAMES_OF_NVSHMEM);
  return shmem_init_thread(requested, provided);
}
inline int nvshmem_team_get_config(nvshmem_team_t team, nvshmem_team_config_t* config) {
  return shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, config);
}
#define MESHMEM_COMPAT_HOST(name, op, E, result, params, args) \
  inline result nvshmem_##name params { return shmem_##name args; }
MESHMEM_COMPAT_HOST_ROUTINES(nvshmem, MESHMEM_COMPAT_HOST)
#undef MESHMEM_COMPAT_HOST

/* ---- On both sides, by one thread: RMA, atomics, signals, waits, collectives, order. NVSHMEM has
 * no contexts. */
#define MESHMEM_COMPAT_BOTH(name, op, E, result, params, args) \
  MESHMEM_ROUTINE(MESHMEM_COMPAT_SIDES, result, nvshmem_##name, params, return shmem_##name args;)
MESHMEM_ALL_IN_KERNELS(MESHMEM_COMPAT_BOTH, MESHMEM_COMPAT_BOTH)
#undef MESHMEM_COMPAT_BOTH
/* Waits and tests on variables of 2 bytes. */
#define MESHMEM_COMPAT_WAIT(name, op, E, result, params, args) \
  MESHMEM_COMPAT_WAIT_OF(nvshmem, name, result, params,        \
                         op(meshmem::device::Thread(), MESHMEM_COMPAT_ARGUMENTS args), name args)
#define MESHMEM_COMPAT_TEST(name, op, E, result, params, args) \
  MESHMEM_COMPAT_WAIT_OF(nvshmem, name, result, params, op args, name args)
MESHMEM_COMPAT_SHORT_WAITS(nvshmem, MESHMEM_COMPAT_WAIT, MESHMEM_COMPAT_TEST)
#undef MESHMEM_COMPAT_WAIT
#undef MESHMEM_COMPAT_TEST
MESHMEM_ROUTINE(MESHMEM_COMPAT_SIDES, int, nvshmem_barrier, (nvshmem_team_t team),
                return meshmem::compat::barrier(team);)
MESHMEM_ROUTINE(MESHMEM_COMPAT_SIDES, int, nvshmem_sync, (nvshmem_team_t team),
                return shmem_team_sync(team);)

/* Its reducescatter is our reduce_scatter: SCATTER(F) reads a row of each type and operation, where
 * op is our name. */
#define MESHMEM_COMPAT_SCATTER(F) MESHMEM_KERNEL_TYPES(MESHMEM_COMPAT_SCATTER_TYPE, F)
#define MESHMEM_COMPAT_SCATTER_TYPE(NAME, TYPE, rma, ext, amo, bit, arith, logic, F)    \
  MESHMEM_IN_##rma(MESHMEM_COMPAT_SCATTER_ROW(F, NAME, TYPE, max))                      \
      MESHMEM_IN_##rma(MESHMEM_COMPAT_SCATTER_ROW(F, NAME, TYPE, min))                  \
          MESHMEM_IN_##arith(MESHMEM_COMPAT_SCATTER_ROW(F, NAME, TYPE, sum))            \
              MESHMEM_IN_##arith(MESHMEM_COMPAT_SCATTER_ROW(F, NAME, TYPE, prod))       \
                  MESHMEM_IN_##logic(MESHMEM_COMPAT_SCATTER_ROW(F, NAME, TYPE, and))    \
                      MESHMEM_IN_##logic(MESHMEM_COMPAT_SCATTER_ROW(F, NAME, TYPE, or)) \
                          MESHMEM_IN_##logic(MESHMEM_COMPAT_SCATTER_ROW(F, NAME, TYPE, xor))
#define MESHMEM_COMPAT_SCATTER_ROW(F, NAME, TYPE, what)                       \
  F(NAME##_##what##_reducescatter, NAME##_##what##_reduce_scatter, TYPE, int, \
    (shmem_team_t team, TYPE * dest, const TYPE* source, size_t nreduce),     \
    (team, dest, source, nreduce))
#define MESHMEM_COMPAT_BOTH(name, op, E, result, params, args) \
  MESHMEM_ROUTINE(MESHMEM_COMPAT_SIDES, result, nvshmem_##name, params, return shmemx_##op args;)
MESHMEM_COMPAT_SCATTER(MESHMEM_COMPAT_BOTH)
#undef MESHMEM_COMPAT_BOTH

#ifdef MESHMEM_COMPILES_KERNELS
/* half and bfloat16, in kernels. */
#define MESHMEM_COMPAT_SHORT(name, op, E, result, params, args) \
  MESHMEM_COMPAT_ROUTINE(result, nvshmem_##name, params, return shmemx_##name args;)
MESHMEM_SHORT_FLOATS(MESHMEM_TYPED_ROW, MESHMEM_COMPAT_SHORT, MESHMEM_COMPAT_SHORT, MESHMEM_IN)
#undef MESHMEM_COMPAT_SHORT
#endif

#endif
