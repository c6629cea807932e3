/* SPDX-License-Identifier: Apache-2.0
 *
 * The header that programs of rocSHMEM include, with headers on which they rely. Invariant: only
 * oshhip and the CMake target meshmem::rocshmem_names search this folder, behind the program's own.
 */
#include <algorithm>

#if __has_include(<mpi.h>)
#include <mpi.h>
#endif

#include "meshmem/compat/rocshmem.hpp"
