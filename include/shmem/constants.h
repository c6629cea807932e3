/* SPDX-License-Identifier: Apache-2.0
 *
 * The constants and types of OpenSHMEM 1.6, for shmem.h and for the code inside kernels. Programs
 * include shmem.h.
 */
#ifndef MESHMEM_SHMEM_CONSTANTS_H
#define MESHMEM_SHMEM_CONSTANTS_H

#include <stddef.h>
#include <stdint.h>

/* 6.1 to 6.3: version, thread levels, and other numbers. */
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
#define SHMEM_CTX_SESSION_BATCH (1L << 0)
#define SHMEM_CTX_SESSION_TOTAL_OPS (1L << 0)
#define SHMEM_TEAM_NUM_CONTEXTS (1L << 0)
#define SHMEM_MALLOC_ATOMICS_REMOTE (1L << 0)
#define SHMEM_MALLOC_SIGNAL_REMOTE (1L << 1)

/* Handles are opaque pointers. The predefined ones are constants, so that they may stand in
 * initializers. */
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

typedef struct {
  size_t total_ops; /* how many calls the session will have, at most */
} shmem_ctx_session_config_t;

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

#endif
