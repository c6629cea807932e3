// SPDX-License-Identifier: Apache-2.0
// A program of NVSHMEM, with its own name of the header.
#include <nvshmem.h>
#include <nvshmemx.h>

#include <cstdio>

int main() {
  nvshmem_init();
  if (nvshmem_my_pe() == 0) std::printf("%d PEs of NVSHMEM\n", nvshmem_n_pes());
  nvshmem_finalize();
}
