/* SPDX-License-Identifier: Apache-2.0
 * Start-up is timed with this program: initialize, meet, finalize. */
#include <shmem.h>

int main(void) {
  shmem_init();
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
