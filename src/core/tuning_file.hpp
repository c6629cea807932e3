// SPDX-License-Identifier: Apache-2.0
//
// The file that MESHMEM_TUNING names. Invariant: whatever the path leads to, reading ends, and what
// cannot be a table is refused by one line. Called once, by start-up.
#ifndef MESHMEM_CORE_TUNING_FILE_HPP_
#define MESHMEM_CORE_TUNING_FILE_HPP_

#include <optional>
#include <string>

namespace meshmem {

// Puts the file's contents into `text`; the answer is nullopt, or a line that says why it cannot.
std::optional<std::string> read_tuning_file(const std::string& path, std::string& text);

}  // namespace meshmem

#endif  // MESHMEM_CORE_TUNING_FILE_HPP_
