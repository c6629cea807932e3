/* SPDX-License-Identifier: Apache-2.0
 *
 * <nvshmemx.h> for programs of NVSHMEM; <nvshmem.h> has the extensions too. Invariant: only oshhip
 * and the CMake target meshmem::nvshmem_names search this folder, after the program's own folders.
 */
#include "meshmem/compat/names/nvshmem/nvshmem.h"
