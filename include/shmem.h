/* SPDX-License-Identifier: Apache-2.0
 *
 * OpenSHMEM 1.6 for C (C99 and later; the type-generic forms from C11) and C++ (C++11 and later;
 * overloads there). Holds what the standard names, and names of its own that begin with meshmem_ or
 * MESHMEM_. Extensions: shmemx.h. The routines and their parameters are read from shmem/types.h
 * (types), shmem/ops.h (routines, each documented there) and shmem/deprecated.h.
 * Invariant, unless a routine says otherwise: a PE number outside 0..n_pes-1 ends the job with a
 * line that says so. So does an address that is not symmetric but has to be.
 */
#ifndef MESHMEM_SHMEM_H
#define MESHMEM_SHMEM_H

#include "shmem/constants.h"
#include "shmem/deprecated.h"
#include "shmem/ops.h"
#include "shmem/thread_sanitizer.h"
#include "shmem/types.h"

/* shmem4py, OpenSHMEM for Python, tells libraries apart by names that their headers define. It
 * knows no names of meshmem; these two stand for a library that has all of the standard. */
#define SHMEM_DEF_H 1
#define SHMEM_FUNCTION_ATTRIBUTES

/* Unless a routine says otherwise, the addresses called dest, source, ivar or sig_addr on the
 * remote side are symmetric. They are in the heap of shmem_malloc, or of global and static
 * variables of the executable. */

/* nvcc, hipcc, and a C++ compiler for the target that runs kernels on the CPU. */
#if defined(__cplusplus) && (defined(__CUDACC__) || defined(__HIP__) || defined(MESHMEM_HIP_ON_CPU))
#define MESHMEM_COMPILES_KERNELS 1
#include "shmem/located.h"
#ifdef MESHMEM_HIP_ON_CPU
#define MESHMEM_CHECKS_SIDES 1
#endif
#endif

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
#define MESHMEM_DECLARE_NAMED(name, op, E, result, params, args) result name params;
MESHMEM_VARIADIC_ROUTINES(MESHMEM_DECLARE)
#ifndef MESHMEM_CHECKS_SIDES
MESHMEM_ALL_ON_HOST(MESHMEM_DECLARE_CTX, MESHMEM_DECLARE)
MESHMEM_DEPRECATED(MESHMEM_DECLARE)
#ifndef __cplusplus
MESHMEM_DEPRECATED_LONG_WAIT_UNTIL(MESHMEM_DECLARE)
#endif
MESHMEM_DEPRECATED_NAMES(MESHMEM_DECLARE_NAMED)
#endif
/* Where kernels are compiled, the routines that kernels have too are functions for both sides
 * (shmem/device.hpp). Their host side calls the declarations below. Where a compiler cannot tell
 * the sides apart, the host's own routines check at each call (shmem/host_only.hpp). */
#ifdef MESHMEM_COMPILES_KERNELS
}
namespace meshmem {
namespace host {
extern "C" {
MESHMEM_ALL_IN_KERNELS(MESHMEM_DECLARE_CTX, MESHMEM_DECLARE)
#define MESHMEM_DECLARE_EXTENSION(name, op, E, result, params, args) result shmemx_##name params;
MESHMEM_EXTENSIONS(MESHMEM_DECLARE_EXTENSION, MESHMEM_IN)
MESHMEM_LOCATED(MESHMEM_DECLARE_EXTENSION)
MESHMEM_ALLTOALLV(MESHMEM_DECLARE_EXTENSION, MESHMEM_IN)
#undef MESHMEM_DECLARE_EXTENSION
#ifdef MESHMEM_CHECKS_SIDES
MESHMEM_ALL_ON_HOST(MESHMEM_DECLARE_CTX, MESHMEM_DECLARE)
MESHMEM_DEPRECATED(MESHMEM_DECLARE)
MESHMEM_DEPRECATED_NAMES(MESHMEM_DECLARE_NAMED)
#endif
}
}  // namespace host
}  // namespace meshmem
#else
MESHMEM_ALL_IN_KERNELS(MESHMEM_DECLARE_CTX, MESHMEM_DECLARE)
#ifdef __cplusplus
}
#endif
#endif
#undef MESHMEM_DECLARE
#undef MESHMEM_DECLARE_CTX
#undef MESHMEM_DECLARE_NAMED

#ifdef MESHMEM_COMPILES_KERNELS
#include "shmem/device.hpp"
#endif
#ifdef MESHMEM_CHECKS_SIDES
#include "shmem/host_only.hpp"
#endif

#include "shmem/generic.h"

#endif
