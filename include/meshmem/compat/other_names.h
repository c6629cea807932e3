/* SPDX-License-Identifier: Apache-2.0
 *
 * How a program that starts under the names of another library makes that known: variables of the
 * environment that its scripts set for that one then count too. Invariant: called before the start,
 * by the start routines of the compat headers alone.
 */
#ifndef MESHMEM_COMPAT_OTHER_NAMES_H
#define MESHMEM_COMPAT_OTHER_NAMES_H

#ifdef __cplusplus
extern "C" {
#endif

#define SHMEMX_NAMES_OF_NVSHMEM 1
#define SHMEMX_NAMES_OF_ROCSHMEM 2
void shmemx_start_under_names_of(int library);

#ifdef __cplusplus
}
#endif

#endif
