// SPDX-License-Identifier: Apache-2.0
// Launches of kernels: checked when they are submitted, then run by the stream's worker.
// Invariant: a launch that is refused submits nothing.
#include <atomic>
#include <memory>

#include "block.hpp"
#include "errors.hpp"
#include "hip/on_cpu/for_meshmem.h"
#include "launch.hpp"
#include "streams.hpp"

namespace hip_on_cpu {
namespace {

constexpr int kThreadsPerMultiprocessor = 2048;

std::atomic<std::uint64_t> submitted{0};

void run_block(LaunchRun& run, dim3 block) { BlockRunner::of_this_os_thread().run(run, block); }

bool is_size(const dim3& size) { return size.x > 0 && size.y > 0 && size.z > 0; }
bool is_within(const dim3& size, const int (&most)[3]) {
  return is_size(size) && size.x <= static_cast<std::uint32_t>(most[0]) &&
         size.y <= static_cast<std::uint32_t>(most[1]) &&
         size.z <= static_cast<std::uint32_t>(most[2]);
}

hipError_t check_launch(const KernelLaunch& launch) {
  if (device_count() == 0) return hipErrorNoDevice;
  if (launch.kernel.run == nullptr) return hipErrorInvalidDeviceFunction;
  const std::uint64_t threads = std::uint64_t{launch.block.x} * launch.block.y * launch.block.z;
  const std::uint64_t threads_along_x = std::uint64_t{launch.grid.x} * launch.block.x;
  const bool fits = is_within(launch.grid, kMaxGridSize) &&
                    is_within(launch.block, kMaxThreadsDim) && threads <= kMaxThreadsPerBlock &&
                    threads_along_x <= UINT32_MAX && launch.shared <= kSharedMemoryPerBlock;
  return fits ? hipSuccess : hipErrorInvalidConfiguration;
}

}  // namespace

std::uint64_t kernels_submitted() { return submitted.load(std::memory_order_relaxed); }

hipError_t submit_launch(const BoundKernel& kernel, dim3 grid, dim3 block, std::size_t shared,
                         hipStream_t stream, bool is_cooperative, LaunchRun::RunBlock runs_block,
                         void (*runs_all)(LaunchRun&)) {
  const auto launch = std::make_shared<KernelLaunch>(kernel, grid, block, shared, is_cooperative);
  const hipError_t error = check_launch(*launch);
  if (error != hipSuccess) return error;
  submitted.fetch_add(1, std::memory_order_relaxed);
  return submit(stream, [launch, runs_block, runs_all] {
    runs_all(*std::make_shared<LaunchRun>(*launch, runs_block));
    return hipSuccess;
  });
}

hipError_t submit_kernel(const BoundKernel& kernel, dim3 grid, dim3 block, std::size_t shared,
                         hipStream_t stream, bool is_cooperative) {
  host_only("hipLaunchKernel");
  catch_faults_in_kernels();
  return remember(submit_launch(kernel, grid, block, shared, stream, is_cooperative, run_block));
}

hipError_t blocks_per_multiprocessor(int* blocks, int block_size, std::size_t shared) {
  host_only("hipOccupancyMaxActiveBlocksPerMultiprocessor");
  if (blocks == nullptr || block_size < 1) return remember(hipErrorInvalidValue);
  const bool fits = block_size <= kMaxThreadsPerBlock && shared <= kSharedMemoryPerBlock;
  *blocks = fits ? kThreadsPerMultiprocessor / block_size : 0;
  return hipSuccess;
}

}  // namespace hip_on_cpu

using namespace hip_on_cpu;

extern "C" hipError_t hipFuncSetAttribute(const void* kernel, hipFuncAttribute attribute,
                                          int value) {
  host_only();
  if (kernel == nullptr) return remember(hipErrorInvalidDeviceFunction);
  if (attribute == hipFuncAttributePreferredSharedMemoryCarveout) {  // a hint: percent, or -1
    return remember(value >= -1 && value <= 100 ? hipSuccess : hipErrorInvalidValue);
  }
  if (attribute != hipFuncAttributeMaxDynamicSharedMemorySize)
    return remember(hipErrorInvalidValue);
  const bool fits = value >= 0 && static_cast<std::size_t>(value) <= kSharedMemoryPerBlock;
  return remember(fits ? hipSuccess : hipErrorInvalidValue);
}
