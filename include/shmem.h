/* SPDX-License-Identifier: Apache-2.0
 *
 * OpenSHMEM 1.6 for C (C99 and later; the type-generic forms from C11) and C++ (C++11 and later;
 * they are overloads there). Holds what the standard names, and names of its own that begin with
 * meshmem_ or MESHMEM_. Extensions: shmemx.h. The routines and their parameters are read from two
 * tables: shmem/types.h (types) and shmem/ops.h (routines, each documented there).
 *
 * Unless a routine says otherwise: addresses called dest, source, ivar or sig_addr on the remote
 * side are symmetric (in the heap of shmem_malloc, or global and static variables of the
 * executable); a PE number outside 0..n_pes-1 and an address that is not symmetric end the job with
 * a line that says so.
 */
#ifndef SHMEM_H
#define SHMEM_H

#include <stddef.h>
#include <stdint.h>

#include "shmem/ops.h"
#include "shmem/types.h"

/* 6.1 to 6.3: version, thread levels, and what else has a number. */
#define SHMEM_MAJOR_VERSION 1
#define SHMEM_MINOR_VERSION 6
#define SHMEM_MAX_NAME_LEN 64
#define SHMEM_VENDOR_STRING "meshmem 0.1.0"

#define SHMEM_THREAD_SINGLE 0
#define SHMEM_THREAD_FUNNELED 1
#define SHMEM_THREAD_SERIALIZED 2
#define SHMEM_THREAD_MULTIPLE 3

#define SHMEM_CMP_EQ 0
#define SHMEM_CMP_NE 1
#define SHMEM_CMP_GT 2
#define SHMEM_CMP_LE 3
#define SHMEM_CMP_LT 4
#define SHMEM_CMP_GE 5

#define SHMEM_SIGNAL_SET 0
#define SHMEM_SIGNAL_ADD 1

/* Bits of options and masks. */
#define SHMEM_CTX_SERIALIZED (1L << 0)
#define SHMEM_CTX_PRIVATE (1L << 1)
#define SHMEM_CTX_NOSTORE (1L << 2)
#define SHMEM_TEAM_NUM_CONTEXTS (1L << 0)
#define SHMEM_MALLOC_ATOMICS_REMOTE (1L << 0)
#define SHMEM_MALLOC_SIGNAL_REMOTE (1L << 1)

/* Handles are pointers to nothing that a program can look into; the predefined ones are constants,
 * so that they may stand in initializers. */
typedef struct meshmem_team* shmem_team_t;
typedef struct meshmem_context* shmem_ctx_t;
#define SHMEM_TEAM_INVALID ((shmem_team_t)0)
#define SHMEM_TEAM_WORLD ((shmem_team_t)1)
#define SHMEM_TEAM_SHARED ((shmem_team_t)2)
#define SHMEM_CTX_INVALID ((shmem_ctx_t)0)
#define SHMEM_CTX_DEFAULT ((shmem_ctx_t)1)

typedef struct {
  int num_contexts; /* how many contexts the team should be able to have; a wish, not a limit */
} shmem_team_config_t;

#ifdef __cplusplus
__extension__ typedef float _Complex meshmem_complexf;
__extension__ typedef double _Complex meshmem_complexd;
#else
typedef float _Complex meshmem_complexf;
typedef double _Complex meshmem_complexd;
#endif
typedef struct {
  uint64_t word[2];
} meshmem_bits128;

#ifdef __cplusplus
extern "C" {
#define MESHMEM_NORETURN [[noreturn]]
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define MESHMEM_NORETURN _Noreturn
#else
#define MESHMEM_NORETURN __attribute__((noreturn))
#endif

/* Ends the whole job with `status`, from any PE at any time; open C streams are flushed (9.1.5). */
MESHMEM_NORETURN void shmem_global_exit(int status);

#define MESHMEM_DECLARE(name, op, E, result, params, args) result shmem_##name params;
#define MESHMEM_DECLARE_CTX(name, op, E, result, params, args) \
  result shmem_##name params;                                  \
  result shmem_ctx_##name MESHMEM_WITH_CTX params;
MESHMEM_ALL_ROUTINES(MESHMEM_DECLARE_CTX, MESHMEM_DECLARE)
#undef MESHMEM_DECLARE
#undef MESHMEM_DECLARE_CTX

#ifdef __cplusplus
}
#endif

#include "shmem/generic.h"

#endif
