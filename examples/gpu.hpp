// SPDX-License-Identifier: Apache-2.0
//
// The shared part of the larger examples with kernels: memory of the GPUs, copies, and errors of
// HIP. Included by 11_kernel_ring, 12_halo_kernel, 13_train_digits_gpu, 14_moe_dispatch,
// 16_allreduce, 17_overlapped_life and 18_overlapped_gemm.
// Invariant: a call of HIP that fails ends the program on all PEs, with one line that says what.
#ifndef MESHMEM_EXAMPLES_GPU_HPP
#define MESHMEM_EXAMPLES_GPU_HPP

#include <hip/hip_runtime.h>
#include <shmemx.h>

#include "arguments.hpp"

namespace examples {

// If the call has failed, ends the program on all PEs with "cannot <what>: <HIP's reason>".
inline void check(hipError_t result, const char* what) {
  if (result == hipSuccess) return;
  std::fprintf(stderr, "%s: PE %d cannot %s: %s\n", program_name.c_str(), shmem_my_pe(), what,
               hipGetErrorString(result));
  shmem_global_exit(1);
}

// Ends the program on all PEs if one of them has no GPU.
inline void require_gpus() {
  int gpus = 0;
  const hipError_t result = hipGetDeviceCount(&gpus);
  agree(result == hipSuccess && gpus > 0
            ? ""
            : std::string("no GPU memory for the PEs to share: ") + hipGetErrorString(result));
}

// Launches return nothing; this finds out whether the last one began.
inline void check_launch(const char* what) { check(hipGetLastError(), what); }

// Waits until all kernels and copies of this PE have ended.
inline void wait_for_gpu() { check(hipDeviceSynchronize(), "run its kernels"); }

template <typename T>
void copy_to_gpu(T* to, const T* from, std::size_t count) {
  check(hipMemcpy(to, from, count * sizeof(T), hipMemcpyHostToDevice), "copy to its GPU");
}
template <typename T>
void copy_from_gpu(T* to, const T* from, std::size_t count) {
  check(hipMemcpy(to, from, count * sizeof(T), hipMemcpyDeviceToHost), "copy from its GPU");
}

// Zeroed memory of this PE's GPU for `count` objects, which no other PE reaches.
template <typename T>
T* allocate_private(std::size_t count) {
  const std::size_t bytes = (count == 0 ? 1 : count) * sizeof(T);
  T* memory = nullptr;
  check(hipMalloc(&memory, bytes), "get memory of its GPU");
  check(hipMemset(memory, 0, bytes), "clear memory of its GPU");
  return memory;
}

// Zeroed symmetric memory of the GPUs for `count` objects. All PEs call it with the same count.
template <typename T>
T* allocate_on_gpus(std::size_t count) {
  const std::size_t bytes = (count == 0 ? 1 : count) * sizeof(T);
  auto* memory = static_cast<T*>(shmem_malloc_with_hints(bytes, SHMEMX_MALLOC_DEVICE));
  agree(memory ? ""
               : "no GPU memory for the PEs to share: not " + std::to_string(count) +
                     " objects of " + std::to_string(sizeof(T)) +
                     " bytes; meshmem-info shows the devices, MESHMEM_DEVICE_HEAP_SIZE sets more");
  check(hipMemset(memory, 0, bytes), "clear memory of its GPU");
  wait_for_gpu();
  shmem_sync_all();  // no PE may put into it before its owner has cleared it
  return memory;
}

// How many blocks certainly run at the same time on the GPU of each PE.
inline int blocks_that_run_together() {
  static int mine;
  static int fewest;
  int device = 0;
  check(hipGetDevice(&device), "tell its GPU");
  check(hipDeviceGetAttribute(&mine, hipDeviceAttributeMultiprocessorCount, device),
        "tell the size of its GPU");
  shmem_int_min_reduce(SHMEM_TEAM_WORLD, &fewest, &mine, 1);
  return fewest;
}

}  // namespace examples

#endif
