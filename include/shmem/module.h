/* SPDX-License-Identifier: Apache-2.0
 *
 * How a translation unit of device code makes itself known to the library. The header
 * shmem/device.hpp does so by itself; programs need not call anything here.
 */
#ifndef MESHMEM_SHMEM_MODULE_H
#define MESHMEM_SHMEM_MODULE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* From now on the library writes the state of the job, state_bytes long, to the address that
 * place() returns: the module's copy in the memory of the current device. It does so whenever the
 * state is made or changes, and at once if the library is initialized. place() may return NULL if
 * the device does not have the module yet; shmemx_module_init() writes the state later. A
 * state_bytes that is not the library's own ends the job with a line that says that the program was
 * compiled with headers of another version. */
void shmemx_register_module(size_t state_bytes, void* (*place)(void));
void shmemx_unregister_module(void* (*place)(void));

/* The module of a CUlibrary, for the names of NVSHMEM; NULL if there is none. */
void* shmemx_module_of_library(void* library);

#ifdef __cplusplus
}
#endif

#endif
