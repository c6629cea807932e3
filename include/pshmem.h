/* SPDX-License-Identifier: Apache-2.0
 *
 * The profiling interface (OpenSHMEM 1.6, section 10): every routine under the prefix pshmem_ (a
 * name without shmem_ gets a p: pstart_pes). A tool defines a shmem_ name itself, does its work,
 * and calls the pshmem_ name. The library never calls a shmem_ name, so each call of a program is
 * seen once.
 */
#ifndef MESHMEM_PSHMEM_H
#define MESHMEM_PSHMEM_H

#include "shmem.h"

#ifdef __cplusplus
extern "C" {
#endif
MESHMEM_NORETURN void pshmem_global_exit(int status);

#define MESHMEM_DECLARE(name, op, E, result, params, args) result pshmem_##name params;
#define MESHMEM_DECLARE_CTX(name, op, E, result, params, args) \
  result pshmem_##name params;                                 \
  result pshmem_ctx_##name MESHMEM_WITH_CTX params;
MESHMEM_ALL_ROUTINES(MESHMEM_DECLARE_CTX, MESHMEM_DECLARE)
MESHMEM_DEPRECATED(MESHMEM_DECLARE)
MESHMEM_DEPRECATED_LONG_WAIT_UNTIL(MESHMEM_DECLARE)
#define MESHMEM_DECLARE_NAMED(name, op, E, result, params, args) result p##name params;
MESHMEM_DEPRECATED_NAMES(MESHMEM_DECLARE_NAMED)
#undef MESHMEM_DECLARE_NAMED
#undef MESHMEM_DECLARE
#undef MESHMEM_DECLARE_CTX

#ifdef __cplusplus
}
#endif

#endif
