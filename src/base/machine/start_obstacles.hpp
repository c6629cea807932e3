// SPDX-License-Identifier: Apache-2.0
//
// Why PMIx cannot start or be reached, of which it says little or nothing: looks at limits and at
// the machine's state, before or after the failure.
// Invariant: an answer is a clause that names what is missing and how to fix it; no answer means
// that nothing was found. Called by start-up of the library and of oshrun.
#ifndef MESHMEM_BASE_MACHINE_START_OBSTACLES_HPP_
#define MESHMEM_BASE_MACHINE_START_OBSTACLES_HPP_

#include <cstddef>
#include <optional>
#include <string>

namespace meshmem {

// This process cannot open `files` more files.
std::optional<std::string> find_lack_of_files(int files);

// There is no interface to reach a server on this machine by.
std::optional<std::string> find_lack_of_network();

// `folder`, which the variable `setting` names, has no room for `bytes`, or a file must be smaller
// (ulimit -f).
std::optional<std::string> find_lack_of_room(const std::string& folder, std::size_t bytes,
                                             const char* setting);

// The most bytes that a file of this process may have (ulimit -f): beyond that the system does not
// answer but kills, by SIGXFSZ.
std::size_t largest_file_bytes();

}  // namespace meshmem

#endif  // MESHMEM_BASE_MACHINE_START_OBSTACLES_HPP_
