/* SPDX-License-Identifier: Apache-2.0
 *
 * The header that programs of NVSHMEM include. Like NVSHMEM's own, it also declares the extensions
 * (nvshmemx_), and includes headers of C and CUDA, since programs rely on that.
 * Invariant: only oshhip and the CMake target meshmem::nvshmem_names search this folder, after the
 * program's own folders.
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
