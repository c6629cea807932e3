/* SPDX-License-Identifier: Apache-2.0
 *
 * Routines of the library with wrong results, for programs that compare results. Each is wrong in a
 * way of its own. Loaded in between by test_bench.py.
 */
#include <shmem.h>
#include <string.h>

/* The last byte is missing. */
void shmem_getmem(void* dest, const void* source, size_t nelems, int pe) {
  memcpy(dest, shmem_ptr(source, pe), nelems - 1);
}

/* Adds twice as much. */
long shmem_long_atomic_fetch_add(long* dest, long value, int pe) {
  return __atomic_fetch_add((long*)shmem_ptr(dest, pe), 2 * value, __ATOMIC_SEQ_CST);
}

/* Another one's data. */
int shmem_broadcastmem(shmem_team_t team, void* dest, const void* source, size_t nelems, int root) {
  (void)team, (void)root;
  memcpy(dest, shmem_ptr(source, shmem_n_pes() - 1), nelems);
  return 0;
}
