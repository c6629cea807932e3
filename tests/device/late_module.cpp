// SPDX-License-Identifier: Apache-2.0
//
// A library with a kernel, which modules_test.cpp loads when the job has long begun.
#include <hip/hip_runtime.h>
#include <shmem.h>

namespace {

__global__ void put_value(long* dest, long value, int pe) { shmem_long_p(dest, value, pe); }

}  // namespace

extern "C" __attribute__((visibility("default"))) void put_by_late_module(long* dest, long value,
                                                                          int pe) {
  hipLaunchKernelGGL(put_value, dim3(1), dim3(1), 0, nullptr, dest, value, pe);
}
