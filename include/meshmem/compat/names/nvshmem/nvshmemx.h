/* SPDX-License-Identifier: Apache-2.0
 *
 * What programs of NVSHMEM include. Invariant: only oshhip and the CMake target
 * meshmem::nvshmem_names search this folder, behind the program's own.
 */
#if __has_include(<cuda_runtime.h>)
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#endif

#include "meshmem/compat/nvshmemx.h"
