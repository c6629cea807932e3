// SPDX-License-Identifier: Apache-2.0
//
// Variables of NVSHMEM and rocSHMEM that count for programs written for them, where ours is not
// set. Invariant: a variable here has ours with the same format, and but for `on_top` its meaning.
// Read by parse_environment(), by the page of variables, and by oshrun, which hands them on.
#ifndef MESHMEM_BASE_OTHER_VARIABLES_HPP_
#define MESHMEM_BASE_OTHER_VARIABLES_HPP_

#include <cstddef>
#include <string_view>
#include <vector>

namespace meshmem {

// Under whose names a program starts.
enum class NamesOf { openshmem, nvshmem, rocshmem };

struct OtherVariable {
  NamesOf library;
  std::string_view library_name;
  std::string_view name;
  std::string_view ours;
  std::size_t on_top;  // bytes that are added to what it says
};
const std::vector<OtherVariable>& other_variables();

}  // namespace meshmem

#endif  // MESHMEM_BASE_OTHER_VARIABLES_HPP_
