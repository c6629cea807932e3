// SPDX-License-Identifier: Apache-2.0
//
// A put from inside a kernel: the threads of a kernel on one PE's GPU write into the memory of the
// next PE's GPU, one number each. No host code takes part in it.
// Run it:
//   oshhip 10_kernel_put.hip -o kernel_put && oshrun -n 4 ./kernel_put
//
// One source for AMD and NVIDIA GPUs, and for none: then kernels run on the CPU.

#include <hip/hip_runtime.h>
#include <shmemx.h>
#include <stdio.h>

constexpr int kNumbers = 64;

__global__ void put_to_the_right(int* inbox) {
  const int thread = static_cast<int>(threadIdx.x);
  const int right = (shmem_my_pe() + 1) % shmem_n_pes();  // the same names as on the host
  shmem_int_p(&inbox[thread], 1000 * shmem_my_pe() + thread, right);
}

int main() {
  shmem_init();
  const int me = shmem_my_pe();
  const int left = (me + shmem_n_pes() - 1) % shmem_n_pes();

  // Symmetric memory of the GPUs. "inbox" names the inbox of whichever PE a put is given.
  auto* inbox =
      static_cast<int*>(shmem_malloc_with_hints(kNumbers * sizeof(int), SHMEMX_MALLOC_DEVICE));
  if (inbox == nullptr) {  // then it is so on all PEs
    if (me == 0) fprintf(stderr, "10_kernel_put: no GPU memory for the PEs to share\n");
    shmem_finalize();
    return 1;
  }
  hipLaunchKernelGGL(put_to_the_right, dim3(1), dim3(kNumbers), 0, 0, inbox);
  if (hipDeviceSynchronize() != hipSuccess) shmem_global_exit(1);  // my kernel has ended
  shmem_barrier_all();                                             // and so have the others'

  int numbers[kNumbers];
  shmem_int_get(numbers, inbox, kNumbers, me);  // from the GPU, where the host cannot look
  int right_ones = 0;
  for (int i = 0; i < kNumbers; ++i) right_ones += numbers[i] == 1000 * left + i;
  printf("PE %d: the kernel of PE %d sent me %d .. %d\n", me, left, numbers[0],
         numbers[kNumbers - 1]);

  shmem_free(inbox);
  shmem_finalize();
  return right_ones == kNumbers ? 0 : 1;
}
