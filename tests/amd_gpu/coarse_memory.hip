// SPDX-License-Identifier: Apache-2.0
//
// Two PEs exchange words through coarse-grained memory, which the L2s of GPUs keep, while their
// kernels run: by stores into the other PE's memory, and by loads from it. Programs must not do so
// (docs/amd.md); here it shows whether fences write L2 back and invalidate it, which LLVM's memory
// model has them do.
// Invariant: flags are in the device heap, and are set behind a fence. The status is 1, and a line
// says so, where a word was older than its flag.
#include <hip/hip_runtime.h>
#include <shmemx.h>

#include <cstdio>

constexpr int kRounds = 20;
constexpr size_t kWords = 40;  // parts of three cache lines

__device__ void announce(uint64_t* flag, uint64_t round, int pe) {
  shmem_fence();
  shmem_p(flag, round, pe);
}

// Words 0 to kWords - 1 are for the other PE's loads, those behind them are stored by it.
__global__ void exchange(uint64_t* words, uint64_t* flags, uint64_t* errors) {
  const int other = 1 - shmem_my_pe();
  auto* const theirs = static_cast<uint64_t*>(shmem_ptr(words, other));
  for (uint64_t round = 1; round <= kRounds; ++round) {
    for (size_t i = 0; i < kWords; ++i) words[i] = theirs[kWords + i] = round + i;
    announce(&flags[0], round, other);
    shmem_wait_until(&flags[0], SHMEM_CMP_GE, round);
    for (size_t i = 0; i < kWords; ++i) {
      if (theirs[i] != round + i) ++errors[0];
      if (words[kWords + i] != round + i) ++errors[1];
    }
    announce(&flags[1], round, other);  // this PE has read
    shmem_wait_until(&flags[1], SHMEM_CMP_GE, round);
  }
}

int main() {
  shmem_init();
  uint64_t *words = nullptr, errors[2];
  auto* const flags =
      static_cast<uint64_t*>(shmem_malloc_with_hints(4 * sizeof(uint64_t), SHMEMX_MALLOC_DEVICE));
  constexpr size_t kBytes = 2 * kWords * sizeof(uint64_t);
  if (shmem_n_pes() != 2 || flags == nullptr || hipMalloc((void**)&words, kBytes) != hipSuccess ||
      hipMemset(words, 0, kBytes) != hipSuccess ||
      hipMemset(flags, 0, 4 * sizeof(uint64_t)) != hipSuccess ||
      hipDeviceSynchronize() != hipSuccess || shmemx_buffer_register(words, kBytes) != 0)
    shmem_global_exit(2);
  shmem_barrier_all();
  hipLaunchKernelGGL(exchange, dim3(1), dim3(1), 0, 0, words, flags, flags + 2);
  if (hipMemcpy(errors, flags + 2, sizeof errors, hipMemcpyDeviceToHost) != hipSuccess)
    shmem_global_exit(2);
  if (errors[0] != 0)
    std::printf("%d words loaded from PE %d were stale\n", (int)errors[0], 1 - shmem_my_pe());
  if (errors[1] != 0)
    std::printf("%d words of PE %d had not arrived\n", (int)errors[1], 1 - shmem_my_pe());
  std::fflush(stdout);
  shmem_barrier_all();
  if (shmemx_buffer_unregister(words) != 0 || hipFree(words) != hipSuccess) shmem_global_exit(2);
  if (errors[0] + errors[1] != 0) shmem_global_exit(1);
  shmem_finalize();
}
