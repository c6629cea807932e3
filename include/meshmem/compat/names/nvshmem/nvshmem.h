/* SPDX-License-Identifier: Apache-2.0
 *
 * The header that programs of NVSHMEM include: as there, with the extensions for the host, and with
 * headers on which programs rely. Invariant: only oshhip and the CMake target
 * meshmem::nvshmem_names search this folder, behind the program's own.
 */
#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __has_include(<cuda_runtime.h>)
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#endif

#include "meshmem/compat/nvshmemx.h"
