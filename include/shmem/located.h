/* SPDX-License-Identifier: Apache-2.0
 *
 * The elements of shmemx_<type>_maxloc_reduce and shmemx_<type>_minloc_reduce: a value and an
 * index. Invariant: the two have the same size, so an element has no padding. Included by shmemx.h,
 * and by shmem.h where kernels are compiled.
 */
#ifndef MESHMEM_SHMEM_LOCATED_H
#define MESHMEM_SHMEM_LOCATED_H

#include <stdint.h>

#include "shmem/types.h"

#define MESHMEM_LOCATED_STRUCT(NAME, TYPE, INDEX, ...) \
  typedef struct {                                     \
    TYPE value;                                        \
    INDEX index;                                       \
  } shmemx_##NAME##_loc_t;
MESHMEM_LOCATED_TYPES(MESHMEM_LOCATED_STRUCT, )
#undef MESHMEM_LOCATED_STRUCT

#endif
