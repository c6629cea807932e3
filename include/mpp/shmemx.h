/* SPDX-License-Identifier: Apache-2.0
 * The deprecated place of shmemx.h (OpenSHMEM 1.6, annex on deprecated API). */
#include "../shmemx.h"
