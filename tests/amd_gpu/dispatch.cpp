// SPDX-License-Identifier: Apache-2.0
// Fills the dispatch packet and the arguments, also the hidden ones, by the kernel's metadata.
// LLVM's AMDGPU usage, "Code Object V4/V5 Metadata", value kinds.
#include "dispatch.hpp"

#include <cstring>

#include "wave.hpp"

namespace amd_gpu {
namespace {

constexpr std::uint32_t kMostLocal = 64 * 1024;

// The value of a hidden argument; 0 for those that nothing here needs.
std::uint64_t hidden_value(std::string_view kind, const dim3& grid, const dim3& block) {
  const std::pair<std::string_view, std::uint64_t> known[] = {
      {"hidden_block_count_x", grid.x},
      {"hidden_block_count_y", grid.y},
      {"hidden_block_count_z", grid.z},
      {"hidden_group_size_x", block.x},
      {"hidden_group_size_y", block.y},
      {"hidden_group_size_z", block.z},
      {"hidden_grid_dims", grid.z > 1 || block.z > 1   ? 3
                           : grid.y > 1 || block.y > 1 ? 2
                                                       : 1},
      {"hidden_private_base", kPrivateAperture >> 32},
      {"hidden_shared_base", kSharedAperture >> 32},
  };
  for (const auto& [name, value] : known)
    if (name == kind) return value;
  return 0;
}

}  // namespace

std::unique_ptr<Dispatch> make_dispatch(const Kernel& kernel, const dim3& grid, const dim3& block,
                                        std::uint32_t shared, void* const* arguments) {
  auto made = std::make_unique<Dispatch>();
  made->kernel = &kernel;
  made->local_size = kernel.descriptor.group_size + shared;
  if (made->local_size > kMostLocal) return nullptr;
  std::uint64_t bytes = kernel.descriptor.kernarg_size;
  for (const auto& a : kernel.arguments) bytes = std::max<std::uint64_t>(bytes, a.offset + a.size);
  made->arguments.assign(bytes / 8 + 1, 0);
  auto* const segment = reinterpret_cast<std::uint8_t*>(made->arguments.data());
  std::size_t n = 0;
  for (const auto& a : kernel.arguments) {
    if (a.is_hidden()) {
      const std::uint64_t value = hidden_value(a.kind, grid, block);
      std::memcpy(segment + a.offset, &value, std::min<std::size_t>(a.size, sizeof value));
    } else {
      std::memcpy(segment + a.offset, arguments[n++], a.size);
    }
  }
  DispatchPacket& p = made->packet;
  p.setup = 3;
  p.block[0] = static_cast<std::uint16_t>(block.x);
  p.block[1] = static_cast<std::uint16_t>(block.y);
  p.block[2] = static_cast<std::uint16_t>(block.z);
  p.grid[0] = grid.x * block.x;
  p.grid[1] = grid.y * block.y;
  p.grid[2] = grid.z * block.z;
  p.private_size = kernel.descriptor.private_size;
  p.group_size = made->local_size;
  p.kernel = kernel.entry - static_cast<std::uint64_t>(kernel.descriptor.entry_offset);
  p.arguments = reinterpret_cast<std::uint64_t>(segment);
  return made;
}

}  // namespace amd_gpu
