/* SPDX-License-Identifier: Apache-2.0
 *
 * The routines that the host alone has, for a C++ compiler that runs kernels on processors.
 * Compilers for GPUs refuse them in kernels. Here a kernel that calls one ends with a line that
 * names it.
 * Invariant: on the host each is one comparison and the library's routine. shmem.h includes this.
 */
#ifndef MESHMEM_SHMEM_HOST_ONLY_HPP
#define MESHMEM_SHMEM_HOST_ONLY_HPP

#include "shmem/device.hpp"

#define MESHMEM_HOST_ONLY_NAMED(name, op, E, result, params, args) \
  inline result name params {                                      \
    hip_on_cpu::host_only(#name);                                  \
    return meshmem::host::name args;                               \
  }
#define MESHMEM_HOST_ONLY(name, op, E, result, params, args) \
  MESHMEM_HOST_ONLY_NAMED(shmem_##name, op, E, result, params, args)
#define MESHMEM_HOST_ONLY_CTX(name, op, E, result, params, args) \
  MESHMEM_HOST_ONLY(name, op, E, result, params, args)           \
  MESHMEM_HOST_ONLY(ctx_##name, op, E, result, MESHMEM_WITH_CTX params, MESHMEM_PASS_CTX args)
MESHMEM_ALL_ON_HOST(MESHMEM_HOST_ONLY_CTX, MESHMEM_HOST_ONLY)
MESHMEM_DEPRECATED(MESHMEM_HOST_ONLY)
MESHMEM_DEPRECATED_NAMES(MESHMEM_HOST_ONLY_NAMED)
#undef MESHMEM_HOST_ONLY_NAMED
#undef MESHMEM_HOST_ONLY
#undef MESHMEM_HOST_ONLY_CTX

#endif
