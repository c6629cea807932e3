// SPDX-License-Identifier: Apache-2.0
//
// CUDA's names without <cuda_runtime.h>, which nvcc includes by itself.
#include <shmem.h>

#include <cstdio>

int main() {
  shmem_init();
  int count = 0;
  const bool found = cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
  if (shmem_my_pe() == 0 && found) std::printf("%d PEs in CUDA\n", shmem_n_pes());
  shmem_finalize();
  return found ? 0 : 1;
}
