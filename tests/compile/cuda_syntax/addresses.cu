// SPDX-License-Identifier: Apache-2.0
// Launches kernels by their untyped addresses, as CUDA programs do for cooperative launches.
// cuda_syntax.sh compiles and runs it.
#include <meshmem/compat/nvshmemx.h>

#include "pe_program.hpp"

__global__ void set(int* to, int value) {
  shmem_barrier_all();
  *to = value;
}
template <typename T, int kFactor>
__global__ void multiply(int* to, T value) {
  *to = value * kFactor;
}

void* const kernels[] = {(void*)set, (void*)multiply<int, 2>};

template <typename Kernel>
void launch_later(Kernel kernel, void** arguments) {
  const void* const address = (const void*)kernel;
  if (hipLaunchKernel(address, dim3(1), dim3(1), arguments, 0, nullptr) != hipSuccess)
    std::puts("a kernel that was given did not start");
}

int main() {
  Program program;
  int *to = program.values(), value = 5;
  void* arguments[] = {&to, &value};

  nvshmemx_collective_launch((const void*)set, 1, 1, arguments, 0, nullptr);
  program.expect("a launch by all PEs", 0, 5);
  value = 6;
  hipLaunchCooperativeKernel(reinterpret_cast<void*>(&set), 1, 1, arguments, 0, nullptr);
  program.expect("a cooperative launch", 0, 6);
  hipLaunchKernel((void*)multiply<int, 3>, dim3(1), dim3(1), arguments, 0, nullptr);
  program.expect("an instance of a template", 0, 18);
  hipLaunchKernel(kernels[1], dim3(1), dim3(1), arguments, 0, nullptr);
  program.expect("an element of a table", 0, 12);
  launch_later(multiply<int, 4>, arguments);
  program.expect("a kernel that was given", 0, 24);
  return program.end();
}
