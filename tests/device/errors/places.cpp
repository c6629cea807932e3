// SPDX-License-Identifier: Apache-2.0
//
// Mistakes in calls of kernels' routines, one of each way in which they are defined: `device_places
// CALL` makes one by the last PE. CMakeLists.txt compares the routine and the line that it prints.
// Invariant: a call is on the line of its CALL, and passes a PE, team or address that is not there.
#include <hip/hip_runtime.h>
#include <meshmem/compat/nvshmemx.h>

#include <cstdio>
#include <cstring>
#include <meshmem/compat/rocshmem.hpp>
#include <utility>

namespace {

struct Call {
  const char* name;
  void (*kernel)(long* heap, int pe);
  const Call* next;
};
const Call* first_call = nullptr;

#define CALL(name, ...)                                                                       \
  __global__ void name([[maybe_unused]] long* heap, [[maybe_unused]] int pe) { __VA_ARGS__; } \
  const Call call_##name = {#name, name, std::exchange(first_call, &call_##name)};

using Half = meshmem_half;
__device__ long outside;  // of the heaps

CALL(put, shmem_long_put(heap, heap, 1, pe))
CALL(get_one, heap[0] = shmem_long_g(heap, pe))
CALL(atomic_in_context, shmem_ctx_long_atomic_inc(SHMEM_CTX_DEFAULT, heap, pe))
CALL(wait_until, shmem_long_wait_until(&outside, SHMEM_CMP_EQ, 0))
CALL(test_once, shmem_long_test(&outside, SHMEM_CMP_EQ, 0))
CALL(sum, shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &outside, heap, 1))
CALL(sync, shmem_team_sync(SHMEM_TEAM_INVALID))
CALL(put_by_wave, shmemx_ctx_long_put_wave(SHMEM_CTX_DEFAULT, heap, heap, 1, pe))
CALL(put_by_block, shmemx_long_put_block(heap, heap, 1, pe))
CALL(fcollect_by_block, shmemx_fcollectmem_block(SHMEM_TEAM_WORLD, &outside, heap, 8))
CALL(sum_by_grid, shmemx_long_sum_reduce_grid(SHMEM_TEAM_WORLD, &outside, heap, 1))
CALL(sync_by_block, shmemx_team_sync_block(SHMEM_TEAM_INVALID))
CALL(sync_by_grid, shmemx_team_sync_grid(SHMEM_TEAM_INVALID))
CALL(packets, shmemx_put_packets_block(heap, heap, 8, 1, pe))
CALL(half_put, shmemx_half_put(reinterpret_cast<Half*>(heap), reinterpret_cast<Half*>(heap), 1, pe))
CALL(average, shmemx_long_avg_reduce(SHMEM_TEAM_WORLD, &outside, heap, 1))
CALL(average_by_block, shmemx_avg_reduce_block(SHMEM_TEAM_WORLD, &outside, heap, 1))
CALL(overload, shmem_put(heap, heap, 1, pe))
CALL(overload_in_context, shmem_p(SHMEM_CTX_DEFAULT, heap, 1L, pe))
CALL(overload_by_block, shmemx_put_block(heap, heap, 1, pe))
CALL(nvshmem, nvshmem_long_p(heap, 1, pe))
CALL(nvshmem_barrier_of, nvshmem_barrier(SHMEM_TEAM_INVALID))
CALL(nvshmem_by_block, nvshmemx_long_put_block(heap, heap, 1, pe))
CALL(rocshmem_name, rocshmem::rocshmem_long_p(heap, 1, pe))
CALL(rocshmem_by_group, rocshmem::rocshmem_ctx_long_put_wg(SHMEM_CTX_DEFAULT, heap, heap, 1, pe))
CALL(rocshmem_barrier_by_group, rocshmem::rocshmem_barrier_wg(SHMEM_TEAM_INVALID))

// An earlier call, and one whose result is an argument, are not the call with the mistake.
CALL(after_another, shmem_long_p(heap, 1, 0), shmem_long_get(heap, heap, 1, pe))
CALL(with_another, shmem_long_p(heap, shmem_long_g(heap, 0), pe))

#ifdef MESHMEM_TARGET_IS_CPU  // compilers for GPUs may not know how much stack such a call takes
CALL(by_address, void (*p)(long*, long, int) = shmem_long_p; p(heap, 1, pe))
CALL(overload_by_address, void (*p)(long*, long, int) = shmem_p; p(heap, 1, pe))
CALL(form_by_address, int (*p)(shmem_team_t) = shmemx_team_sync_block; p(SHMEM_TEAM_INVALID))
#endif

}  // namespace

int main(int argc, char** argv) {
  shmem_init();
  auto* heap = static_cast<long*>(shmem_malloc_with_hints(64, SHMEMX_MALLOC_DEVICE));
  if (argc != 2 || !heap) {
    std::fprintf(stderr, "places: name one call; a device must be there\n");
    return 2;
  }
  void (*const meet)() = shmem_barrier_all;  // the host's side has an address, too
  meet();
  int pe = shmem_n_pes();
  void* arguments[] = {&heap, &pe};
  for (const Call* call = first_call; call; call = call->next) {
    if (shmem_my_pe() != pe - 1 || std::strcmp(call->name, argv[1]) != 0) continue;
    const bool by_group = std::strstr(argv[1], "_by_") || std::strcmp(argv[1], "packets") == 0;
    if (hipLaunchCooperativeKernel(call->kernel, dim3(1), dim3(by_group ? 64 : 1), arguments, 0,
                                   nullptr) != hipSuccess ||
        hipDeviceSynchronize() != hipSuccess)
      shmem_global_exit(3);
    std::printf("still alive\n");
  }
  meet();
  shmem_finalize();
}
