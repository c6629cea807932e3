// SPDX-License-Identifier: Apache-2.0
//
// The table. Sizes have one format in all three libraries, but that rocSHMEM's has no suffix.
#include "base/other_variables.hpp"

namespace meshmem {
namespace {

// In those libraries a size is what a program's large blocks take: what alignment and small blocks
// take comes on top.
constexpr std::size_t kOnTop = std::size_t{16} << 20;

}  // namespace

const std::vector<OtherVariable>& other_variables() {
  static const std::vector<OtherVariable> variables = {
      {NamesOf::nvshmem, "NVSHMEM", "NVSHMEM_SYMMETRIC_SIZE", "MESHMEM_DEVICE_HEAP_SIZE", kOnTop},
      {NamesOf::rocshmem, "rocSHMEM", "ROCSHMEM_HEAP_SIZE", "MESHMEM_DEVICE_HEAP_SIZE", kOnTop},
  };
  return variables;
}

}  // namespace meshmem
