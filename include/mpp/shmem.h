/* SPDX-License-Identifier: Apache-2.0
 * The deprecated place of shmem.h (OpenSHMEM 1.6, annex on deprecated API). */
#include "../shmem.h"
