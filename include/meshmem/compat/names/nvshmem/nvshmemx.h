/* SPDX-License-Identifier: Apache-2.0
 *
 * What programs of NVSHMEM include: <nvshmem.h> has the extensions too. Invariant: only oshhip and
 * the CMake target meshmem::nvshmem_names search this folder, behind the program's own.
 */
#include "meshmem/compat/names/nvshmem/nvshmem.h"
