// SPDX-License-Identifier: Apache-2.0
// Fat binaries: the bundles in which clang puts code objects of several kinds of GPUs.
// Used by module.cpp for what programs register, and by known_code.cpp and kernel_table.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "architecture.hpp"
#include "code_object.hpp"

namespace amd_gpu {

inline constexpr std::string_view kBundleMagic = "__CLANG_OFFLOAD_BUNDLE__";

// The code object for such GPUs in the bundle that begins there; empty where it has none.
std::span<const std::uint8_t> find_code(const std::uint8_t* begin,
                                        const Architecture& architecture);

// The GPU of the first code object that can be emulated; null if there is none.
const Architecture* first_architecture(const std::uint8_t* begin);

// Calls use() for each code object in a file that can be emulated. False after a line about one
// that cannot be read.
bool for_each_code_object(const char* path, const std::function<void(const CodeObject&)>& use);

}  // namespace amd_gpu
