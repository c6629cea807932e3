// SPDX-License-Identifier: Apache-2.0
// A launch as the hardware sees it: the dispatch packet and the kernel's argument segment.
// Invariant: lives until no stream or graph can run the launch again. Made by registration.cpp,
// run by block_runner.cpp.
#pragma once

#include "code_object.hpp"
#include "launch.hpp"

namespace amd_gpu {

// hsa_kernel_dispatch_packet_t of the HSA runtime's specification.
struct DispatchPacket {
  std::uint16_t header, setup;
  std::uint16_t block[3], reserved0;
  std::uint32_t grid[3];  // in threads
  std::uint32_t private_size, group_size;
  std::uint64_t kernel, arguments, reserved2, completion;
};
static_assert(sizeof(DispatchPacket) == 64);

struct Dispatch {
  const Kernel* kernel;
  std::uint32_t local_size;  // LDS of a block
  int device;
  DispatchPacket packet;
  std::vector<std::uint64_t> arguments;
};

std::unique_ptr<Dispatch> make_dispatch(const Kernel& kernel, const dim3& grid, const dim3& block,
                                        std::uint32_t shared, void* const* arguments);

// Runs all blocks of a launch.
void run_kernel(hip_on_cpu::LaunchRun& run);
// Runs one block on the calling thread.
void run_block(hip_on_cpu::LaunchRun& run, dim3 block);

}  // namespace amd_gpu
