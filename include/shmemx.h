/* SPDX-License-Identifier: Apache-2.0
 *
 * Extensions of meshmem to OpenSHMEM; their names begin with shmemx_. There are none on the cpu
 * target so far.
 */
#ifndef SHMEMX_H
#define SHMEMX_H

#include "shmem.h"

#endif
