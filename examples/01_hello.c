// SPDX-License-Identifier: Apache-2.0
//
// Hello: several copies of one program, and each knows which one it is.
// Run it:
//   oshcc 01_hello.c -o hello && oshrun -n 4 ./hello
//
// Each copy is a PE ("processing element"). PEs are numbered from 0, and share no variables by
// themselves: the next example shows how one PE reaches into the memory of another. They run at the
// same time, so their lines come in any order.

#include <shmem.h>
#include <stdio.h>

int main(void) {
  shmem_init();  // all PEs call it, before they call other shmem_ routines

  char library[SHMEM_MAX_NAME_LEN];
  shmem_info_get_name(library);
  printf("Hello from PE %d of %d, by %s\n", shmem_my_pe(), shmem_n_pes(), library);

  shmem_finalize();  // waits until all PEs are here
  return 0;
}
