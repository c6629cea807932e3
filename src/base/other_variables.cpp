// SPDX-License-Identifier: Apache-2.0
//
// The table. Sizes have one format in all three libraries, but that rocSHMEM's has no suffix.
#include "base/other_variables.hpp"

namespace meshmem {

const std::vector<OtherVariable>& other_variables() {
  static const std::vector<OtherVariable> variables = {
      {NamesOf::nvshmem, "NVSHMEM", "NVSHMEM_SYMMETRIC_SIZE", "MESHMEM_DEVICE_HEAP_SIZE"},
      {NamesOf::rocshmem, "rocSHMEM", "ROCSHMEM_HEAP_SIZE", "MESHMEM_DEVICE_HEAP_SIZE"},
  };
  return variables;
}

}  // namespace meshmem
