// SPDX-License-Identifier: Apache-2.0
//
// A kernel for each row and each group of threads that has a form of it. Compiled as device code.
// Invariant: a kernel does all its rounds, so that its launch is paid for once.
#include <hip/hip_runtime.h>
#include <shmem.h>
#include <shmemx.h>

#include "bench/operation.hpp"

namespace meshmem::bench {
namespace {

using Kernel = void (*)(At at, Rounds rounds);

[[maybe_unused]] constexpr int kMostThreads = 512;  // of a block, on GPUs

// The slice that this block moves, in a kernel whose blocks share the data.
struct Slice {
  std::size_t skip, bytes;
};
__device__ Slice slice_of(std::size_t bytes) {
  const std::size_t blocks = gridDim.x, block = blockIdx.x;
  const std::size_t most = (bytes + blocks - 1) / blocks;
  const std::size_t skip = most * block < bytes ? most * block : bytes;
  return {skip, bytes - skip < most ? bytes - skip : most};
}

#define KERNEL(name, slice, quiet, ...)                                           \
  __global__ void __launch_bounds__(kMostThreads) name(At at, Rounds rounds) {    \
    const Slice own_slice = slice;                                                \
    const std::size_t skip = own_slice.skip, bytes = own_slice.bytes;             \
    std::uint64_t call = rounds.first;                                            \
    for (int i = 0; i < rounds.rounds; ++i) {                                     \
      const std::uint64_t end = call + static_cast<std::uint64_t>(rounds.window); \
      for (; call < end; ++call) {                                                \
        __VA_ARGS__;                                                              \
      }                                                                           \
      quiet;                                                                      \
    }                                                                             \
    (void)skip, (void)bytes;                                                      \
  }
#define IF_no(...)
#define IF_yes(...) __VA_ARGS__
#define IF_none(...)
#define IF_slices(...) __VA_ARGS__
#define IF_whole(...) __VA_ARGS__
#define AFTER_nothing(quiet) static_cast<void>(0)
#define AFTER_quiet(quiet) quiet()
#define WHOLE \
  Slice { 0, at.bytes }

#define DO(name) shmem_##name
#define XDO(name) shmemx_##name
#define MOVE(name) shmem_##name
#define ROW(name, who, size, answer, window, after, groups, grid, stream, ...) \
  KERNEL(name##_by_thread, WHOLE, AFTER_##after(shmem_quiet), __VA_ARGS__)
#include "bench/rows.def"
#undef ROW
#undef MOVE
#undef XDO
#undef DO

#define DO(name) shmemx_##name##_wave
#define XDO(name) DO(name)
#define MOVE(name) DO(name)
#define ROW(name, who, size, answer, window, after, groups, grid, stream, ...) \
  IF_##groups(KERNEL(name##_by_wave, WHOLE, AFTER_##after(shmemx_quiet_wave), __VA_ARGS__))
#include "bench/rows.def"
#undef ROW
#undef MOVE
#undef XDO
#undef DO

#define DO(name) shmemx_##name##_block
#define XDO(name) DO(name)
#define MOVE(name) DO(name)
#define ROW(name, who, size, answer, window, after, groups, grid, stream, ...) \
  IF_##groups(KERNEL(name##_by_block, WHOLE, AFTER_##after(shmemx_quiet_block), __VA_ARGS__))
#include "bench/rows.def"
#undef ROW
#undef MOVE
#undef XDO
#undef DO

#define DO(name) shmemx_##name##_grid
#define XDO(name) DO(name)
#define MOVE(name) shmemx_##name##_block
#define ROW(name, who, size, answer, window, after, groups, grid, stream, ...) \
  IF_##grid(                                                                   \
      KERNEL(name##_by_grid, slice_of(at.bytes), AFTER_##after(shmemx_quiet_block), __VA_ARGS__))
#include "bench/rows.def"
#undef ROW
#undef MOVE
#undef XDO
#undef DO
#undef IF_whole
#undef IF_slices
#undef IF_none
#undef IF_yes
#undef IF_no

// A row's kernels: by thread, wave, block and grid.
#define IF_no(kernel) nullptr
#define IF_yes(kernel) kernel
#define IF_none(kernel) nullptr
#define IF_slices(kernel) kernel
#define IF_whole(kernel) kernel
#define ROW(name, who, size, answer, window, after, groups, grid, stream, ...)  \
  {name##_by_thread, IF_##groups(name##_by_wave), IF_##groups(name##_by_block), \
   IF_##grid(name##_by_grid)},
const Kernel kKernels[][4] = {
#include "bench/rows.def"
};
#undef ROW
#undef IF_whole
#undef IF_slices
#undef IF_none
#undef IF_yes
#undef IF_no
#undef WHOLE
#undef AFTER_quiet
#undef AFTER_nothing
#undef KERNEL

Kernel kernel_of(int number, Caller group) {
  return kKernels[number][static_cast<int>(group) - static_cast<int>(Caller::thread)];
}

}  // namespace

bool has_kernel(int number, Caller group) { return kernel_of(number, group) != nullptr; }

hipError_t launch(int number, Caller group, const At& at, const Rounds& rounds, const Shape& shape,
                  hipStream_t stream) {
  const Kernel kernel = kernel_of(number, group);
  if (group == Caller::grid) {  // its blocks wait for each other
    At argument = at;
    Rounds how_many = rounds;
    void* arguments[] = {&argument, &how_many};
    return hipLaunchCooperativeKernel(kernel, dim3(shape.blocks), dim3(shape.threads), arguments, 0,
                                      stream);
  }
  hipLaunchKernelGGL(kernel, dim3(1), dim3(shape.threads), 0, stream, at, rounds);
  return hipGetLastError();
}

}  // namespace meshmem::bench
