// SPDX-License-Identifier: Apache-2.0
// Shared by the programs here: a PE with device memory, which reports wrong values in it.
// Invariant: all PEs make one Program, and call end() last.
#pragma once

#include <hip/hip_runtime.h>
#include <shmem.h>
#include <shmemx.h>

#include <cstdio>

// In the style of programs that launch all kernels by one macro.
#define LAUNCH(kernel, grid, block, ...)      \
  do {                                        \
    kernel<<<(grid), (block)>>>(__VA_ARGS__); \
  } while (0)

class Program {
 public:
  static constexpr int kValues = 256;

  Program() {
    shmem_init();
    values_ =
        static_cast<int*>(shmem_malloc_with_hints(kValues * sizeof(int), SHMEMX_MALLOC_DEVICE));
    if (values_ == nullptr || hipMemset(values_, 0, kValues * sizeof(int)) != hipSuccess)
      shmem_global_exit(2);
    shmem_barrier_all();
  }

  int* values() const { return values_; }
  void expect(const char* what, int at, int wanted) {
    int found[kValues];
    if (hipDeviceSynchronize() != hipSuccess ||
        hipMemcpy(found, values_, sizeof found, hipMemcpyDeviceToHost) != hipSuccess)
      shmem_global_exit(3);
    if (found[at] == wanted) return;
    std::printf("PE %d: %s left %d, not %d\n", shmem_my_pe(), what, found[at], wanted);
    wrong_ = 1;
  }
  int end() {
    shmem_barrier_all();
    shmem_free(values_);
    shmem_finalize();
    return wrong_;
  }

 private:
  int* values_;
  int wrong_ = 0;
};
