// SPDX-License-Identifier: Apache-2.0
// The AMD GPUs that are emulated, and in what their code and memory differ.
// Invariant: code names the GPU that it is for (fat binaries by name, code objects by a number).
// All devices of a process are of one kind (module.hpp).
#pragma once

#include <string_view>

namespace amd_gpu {

struct Architecture {
  std::string_view name;
  unsigned machine;  // EF_AMDGPU_MACH of its code objects (LLVM's AMDGPU usage, "ELF Header")
  // Loads, stores and caches' instructions say their scope by sc0 and sc1, and blocks may be on
  // parts of the GPU with an L2 each ("Memory Model GFX942").
  bool has_scopes;
};

inline constexpr Architecture kArchitectures[] = {{"gfx90a", 0x3f, false}, {"gfx942", 0x4c, true}};

// Null for a GPU that is not emulated.
inline const Architecture* find_architecture(std::string_view name) {
  for (const Architecture& known : kArchitectures)
    if (known.name == name) return &known;
  return nullptr;
}

}  // namespace amd_gpu
