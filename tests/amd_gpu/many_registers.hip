// SPDX-License-Identifier: Apache-2.0
// Kernels for 1,024 threads that call the routines with most registers, in line and in functions. A
// test looks at their machine code: nothing may be fetched where no lane is active
// (idle_lanes.hpp). Compiled and not run by job.sh.
#include <hip/hip_runtime.h>
#include <shmem.h>
#include <shmemx.h>

#define IN_A_FUNCTION(name, routine)                                                    \
  static __device__ __attribute__((noinline)) int name(shmem_team_t team, float* dest,  \
                                                       const float* source, size_t n) { \
    return routine(team, dest, source, n);                                              \
  }
IN_A_FUNCTION(scatter_by_thread, shmemx_float_sum_reduce_scatter)
IN_A_FUNCTION(scatter_by_wave, shmemx_float_sum_reduce_scatter_wave)
IN_A_FUNCTION(scatter_by_block, shmemx_float_sum_reduce_scatter_block)
IN_A_FUNCTION(scatter_by_grid, shmemx_float_sum_reduce_scatter_grid)
IN_A_FUNCTION(reduce_by_grid, shmemx_float_sum_reduce_grid)
IN_A_FUNCTION(scan_by_block, shmemx_float_sum_inscan_block)

__global__ void by_functions(int which, shmem_team_t team, float* dest, const float* source,
                             size_t n) {
  switch (which) {
    case 0:
      scatter_by_thread(team, dest, source, n);
      break;
    case 1:
      scatter_by_wave(team, dest, source, n);
      break;
    case 2:
      scatter_by_block(team, dest, source, n);
      break;
    case 3:
      scatter_by_grid(team, dest, source, n);
      break;
    case 4:
      reduce_by_grid(team, dest, source, n);
      break;
    default:
      scan_by_block(team, dest, source, n);
  }
}

__global__ void in_line(shmem_team_t team, float* dest, const float* source, size_t n) {
  shmemx_float_sum_reduce_scatter_grid(team, dest, source, n);
}
