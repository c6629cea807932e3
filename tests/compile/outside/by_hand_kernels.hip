// SPDX-License-Identifier: Apache-2.0
//
// A module that by_hand.cpp loads. LIBRARY: its kernels call the library. NO_LIBRARY: code that
// calls none. OTHER_HEADERS: its state is not this library's.
#include <hip/hip_runtime.h>

#if defined(NO_LIBRARY)
extern "C" __global__ void leave_alone(int* word) { *word += 0; }
#elif defined(OTHER_HEADERS)
namespace meshmem {
namespace device {
#if defined(__HIP__)
static
#endif
    __constant__ int module_state;
void* place() {
  void* found = nullptr;
  return hipGetSymbolAddress(&found, HIP_SYMBOL(module_state)) == hipSuccess ? found : nullptr;
}
}  // namespace device
}  // namespace meshmem
extern "C" __global__ void read_state(int* word) { *word = meshmem::device::module_state; }
#else
#include <shmem.h>

extern "C" __global__ void count_pes(int* n) { *n = shmem_n_pes(); }

// Each word of `inbox` comes from the previous PE, by one thread and by all of the block.
extern "C" __global__ void pass_on(int* inbox, int* outbox, uint64_t* arrived, int nelems) {
  const int me = shmem_my_pe(), next = (me + 1) % shmem_n_pes();
  for (int i = threadIdx.x; i < nelems; i += blockDim.x) outbox[i] = 1000 * me + i;
  __syncthreads();
  shmemx_int_put_block(inbox, outbox, nelems, next);
  if (threadIdx.x == 0) {
    shmem_int_p(inbox + nelems, me, next);
    shmem_fence();
    shmem_signal_set(arrived, 1, next);
    shmem_signal_wait_until(arrived, SHMEM_CMP_EQ, 1);
  }
  shmemx_barrier_all_block();
}
#endif
