/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of the library that only the compat headers call.
 */
#ifndef MESHMEM_COMPAT_OTHER_NAMES_H
#define MESHMEM_COMPAT_OTHER_NAMES_H

#ifdef __cplusplus
extern "C" {
#endif

/* Says that the next start is under the names of another library: environment variables that
 * scripts set for that library count too. */
#define SHMEMX_NAMES_OF_NVSHMEM 1
#define SHMEMX_NAMES_OF_ROCSHMEM 2
void shmemx_start_under_names_of(int library);
/* The handle, as a number, of NVSHMEM's team of the PEs that have the same number on their
 * machines. */
#define MESHMEM_COMPAT_TEAM_SAME_NUMBER 1536
/* As shmemx_init_mpi_comm, but ends the program if it cannot start, as shmem_init does. */
void shmemx_start_by_mpi_comm(const void* communicator);
/* Starts MPI if the program is linked with it and has not started it, as rocshmem_init does. */
void shmemx_start_mpi_if_linked(void);
/* 1 if the job has a device heap. */
int shmemx_has_device_memory(void);

#ifdef __cplusplus
}
#endif

#endif
