/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions that the compat headers alone call. Invariant: nobody else does.
 */
#ifndef MESHMEM_COMPAT_OTHER_NAMES_H
#define MESHMEM_COMPAT_OTHER_NAMES_H

#ifdef __cplusplus
extern "C" {
#endif

/* The start that follows is one under the names of another library: variables of the environment
 * that scripts set for that one count too. */
#define SHMEMX_NAMES_OF_NVSHMEM 1
#define SHMEMX_NAMES_OF_ROCSHMEM 2
void shmemx_start_under_names_of(int library);
/* The number that the team of PEs with the same number on their machines has, under NVSHMEM's. */
#define MESHMEM_COMPAT_TEAM_SAME_NUMBER 1536
/* shmemx_init_mpi_comm, which ends the program where it cannot start, as shmem_init does. */
void shmemx_start_by_mpi_comm(const void* communicator);
/* Starts MPI where the program is linked with it and has not started it, as rocshmem_init does. */
void shmemx_start_mpi_if_linked(void);
/* 1 if the job has a device heap. */
int shmemx_has_device_memory(void);

#ifdef __cplusplus
}
#endif

#endif
