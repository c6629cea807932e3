// SPDX-License-Identifier: Apache-2.0
//
// Finds out why PMIx cannot start or be reached, since it says little itself. Looks at limits and
// at the machine's state, before or after the failure.
// Invariant: an answer is a clause that names what is missing and how to fix it. No answer means
// that nothing was found. Called by start-up of the library and of oshrun, and by meshmem-info.
#ifndef MESHMEM_BASE_MACHINE_START_OBSTACLES_HPP_
#define MESHMEM_BASE_MACHINE_START_OBSTACLES_HPP_

#include <cstddef>
#include <optional>
#include <string>

namespace meshmem {

// Answers if this process cannot open `files` more files.
std::optional<std::string> why_too_few_files(int files);

// Answers if no interface is up: PMIx reaches even a server on this machine through one.
std::optional<std::string> why_no_network();

// Answers if `folder`, which the variable `setting` names, has no room for `bytes`, or if files
// must be smaller (ulimit -f).
std::optional<std::string> why_no_room(const std::string& folder, std::size_t bytes,
                                       const char* setting);

// The most bytes that a file of this process may have (ulimit -f). A write beyond that gets no
// error but a signal, SIGXFSZ, which kills.
std::size_t largest_file_bytes();

}  // namespace meshmem

#endif  // MESHMEM_BASE_MACHINE_START_OBSTACLES_HPP_
