/* SPDX-License-Identifier: Apache-2.0
 *
 * What programs of NVSHMEM include. Invariant: only oshhip and the CMake target
 * meshmem::nvshmem_names search this folder, behind the program's own.
 */
#include "meshmem/compat/nvshmemx.h"
