// SPDX-License-Identifier: Apache-2.0
//
// Waits in kernels, without checks. MESHMEM_TIMEOUT ends those that last too long. The program is
// called with a mode. In the modes of wait_for_ever() PE 0 waits for ever. With `short N` each PE
// waits N times for 20 ms in one kernel.
// Invariant: the host of a waiting PE calls nothing of the library that has the same limit.
#include <hip/hip_runtime.h>
#include <shmem.h>
#include <shmemx.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

__global__ void wait_for_each(long* flag, long last) {
  for (long value = 1; value <= last; ++value) shmem_long_wait_until(flag, SHMEM_CMP_GE, value);
}
__global__ void meet_all() { shmemx_barrier_all_block(); }

int run_short_waits(long* flag, long n) {
  hipLaunchKernelGGL(wait_for_each, dim3(1), dim3(1), 0, nullptr, flag, n);
  for (long value = 1; value <= n; ++value) {
    usleep(20000);
    shmem_long_p(flag, value, shmem_my_pe());
    shmem_quiet();
  }
  if (hipDeviceSynchronize() != hipSuccess) return 3;
  shmem_finalize();
  return 0;
}

// Returns false if this is no mode.
bool wait_for_ever(const char* mode, long* flag) {
  const auto is = [mode](const char* name) { return std::strcmp(mode, name) == 0; };
  if (is("variable"))
    hipLaunchKernelGGL(wait_for_each, dim3(1), dim3(1), 0, nullptr, flag, 1);
  else if (is("collective"))
    hipLaunchKernelGGL(meet_all, dim3(1), dim3(64), 0, nullptr);
  else if (is("variable_on_stream"))
    shmemx_signal_wait_until_on_stream(reinterpret_cast<std::uint64_t*>(flag), SHMEM_CMP_EQ, 1,
                                       nullptr);
  else if (is("collective_on_stream"))
    shmemx_barrier_all_on_stream(nullptr);
  else
    return false;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  shmem_init();
  auto* const flag =
      static_cast<long*>(shmem_malloc_with_hints(sizeof(long), SHMEMX_MALLOC_DEVICE));
  if (argc < 2 || !flag) return 2;
  shmem_long_p(flag, 0, shmem_my_pe());
  shmem_barrier_all();
  if (argc == 3 && std::strcmp(argv[1], "short") == 0) return run_short_waits(flag, atol(argv[2]));
  if (shmem_my_pe() != 0) {
    sleep(80);
  } else if (!wait_for_ever(argv[1], flag)) {
    return 2;
  }
  std::printf("launched\n");
  std::fflush(stdout);
  (void)hipDeviceSynchronize();
  std::printf("still alive\n");
  return 0;
}
