// SPDX-License-Identifier: Apache-2.0
// A program whose kernels wait in a way that test_status.py or test_nodes.py asks for, until
// SIGUSR1 comes to PE 0; in late_host, for some seconds; in host_variable, for ever.
// Invariant: a PE prints "ready" when its kernel is about to wait, and ends with status 0
// when the wait is over.
// Usage: status_kernels variable | far_variable | barrier | reduce | host_reduce | late_host |
// host_variable
#include <hip/hip_runtime.h>
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace {

volatile sig_atomic_t told;

void await_signal() {
  while (!told) usleep(10000);
}

__global__ void wait_for_flags(long* flags) {
  shmemx_long_wait_until_block(flags + blockIdx.x, SHMEM_CMP_EQ, 7);
}
__global__ void ask_for_flag(long* flag) {
  while (shmem_long_g(flag, 0) != 7) continue;
}
__global__ void meet() { shmemx_barrier_all_block(); }
__global__ void sum_up(float* dest, float* source) {
  shmemx_float_sum_reduce_block(SHMEM_TEAM_WORLD, dest, source, 4);
}

// Zeros, in the memory of the device.
template <typename T>
T* take(std::size_t count) {
  void* const memory = shmem_malloc_with_hints(count * sizeof(T), SHMEMX_MALLOC_DEVICE);
  (void)hipMemset(memory, 0, count * sizeof(T));
  (void)hipDeviceSynchronize();
  shmem_barrier_all();
  return static_cast<T*>(memory);
}

constexpr int kBlocks = 3, kThreads = 64;

// All PEs' kernels wait for flags, which PE 0 sets when it is told.
void wait_for_variable() {
  long* const flags = take<long>(kBlocks);
  hipLaunchKernelGGL(wait_for_flags, dim3(kBlocks), dim3(kThreads), 0, nullptr, flags);
  if (shmem_my_pe() == 0) {
    await_signal();
    for (int pe = 0; pe < shmem_n_pes(); ++pe)
      for (int i = 0; i < kBlocks; ++i) shmem_long_p(flags + i, 7, pe);
    shmem_quiet();
  }
}

// The last PE's own host ends its kernel's wait, after some seconds without a call.
void wait_for_late_host() {
  long* const flag = take<long>(1);
  if (shmem_my_pe() != shmem_n_pes() - 1) return;
  hipLaunchKernelGGL(wait_for_flags, dim3(1), dim3(1), 0, nullptr, flag);
  sleep(4);
  shmem_long_p(flag, 7, shmem_my_pe());
  shmem_quiet();
}

// No kernel runs, and all hosts wait for a flag that nobody sets.
void wait_on_host() {
  static long flag = 0;
  shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 7);
}

// Those of all PEs ask for a flag of PE 0 again and again.
void ask_for_variable() {
  long* const flag = take<long>(1);
  hipLaunchKernelGGL(ask_for_flag, dim3(1), dim3(1), 0, nullptr, flag);
  if (shmem_my_pe() == 0) {
    await_signal();
    shmem_long_p(flag, 7, 0);
  }
}

// The kernel of PE 0 comes late.
void wait_in_collective(const char* verb) {
  float* const numbers = take<float>(8);
  if (shmem_my_pe() == 0) await_signal();
  if (std::strcmp(verb, "barrier") == 0)
    hipLaunchKernelGGL(meet, dim3(1), dim3(kThreads), 0, nullptr);
  if (std::strcmp(verb, "reduce") == 0)
    hipLaunchKernelGGL(sum_up, dim3(1), dim3(kThreads), 0, nullptr, numbers, numbers + 4);
  if (std::strcmp(verb, "host_reduce") == 0)
    shmem_float_sum_reduce(SHMEM_TEAM_WORLD, numbers, numbers + 4, 4);
}

}  // namespace

int main(int argc, char** argv) {
  const char* const verb = argc > 1 ? argv[1] : "";
  signal(SIGUSR1, [](int) { told = 1; });
  shmem_init();
  std::printf("ready\n");
  std::fflush(stdout);
  if (std::strcmp(verb, "variable") == 0)
    wait_for_variable();
  else if (std::strcmp(verb, "far_variable") == 0)
    ask_for_variable();
  else if (std::strcmp(verb, "late_host") == 0)
    wait_for_late_host();
  else if (std::strcmp(verb, "host_variable") == 0)
    wait_on_host();
  else
    wait_in_collective(verb);
  const bool failed = hipDeviceSynchronize() != hipSuccess;
  shmem_finalize();
  return failed;
}
