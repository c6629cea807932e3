// SPDX-License-Identifier: Apache-2.0
//
// Compares the settings with which PEs would wait for each other for ever if they differed. These
// are the heap's size, the table of MESHMEM_TUNING, and the variables that choose how reductions
// are done.
// Invariant: the PE that differs says so and ends the job; no PE goes on with other settings than
// the first one. Called by start-up.
#ifndef MESHMEM_CORE_SAME_SETTINGS_HPP_
#define MESHMEM_CORE_SAME_SETTINGS_HPP_

#include <cstddef>
#include <optional>
#include <string>

#include "base/settings/environment.hpp"
#include "memory/arena.hpp"

namespace meshmem {

// Puts the contents of the file that MESHMEM_TUNING names into `text`. nullopt, or a line that says
// why it cannot. Whatever the path leads to, reading ends.
std::optional<std::string> read_tuning_file(const std::string& path, std::string& text);

// The bytes that SHMEM_SYMMETRIC_SIZE asks for, or that suit the machine.
std::size_t heap_bytes(const Environment& environment, int n_pes);

// Fills in what the others compare of this PE's entry. `tuning`: the text of the table.
void tell_settings(DirectoryEntry& mine, const ArenaLayout& layout, const Environment& environment,
                   const std::string& tuning);

// The difference that makes these settings impossible beside the first ones, which are `where` ("PE
// 0 on host a"); nullopt: nothing. A heap whose size nobody has asked for may be of any size.
std::optional<std::string> difference_of(const Settings& settings, const Settings& first,
                                         const std::string& where);

// Returns if all PEs of the arena have the same. Once all entries are filled in.
void require_same_settings(const DirectoryEntry* directory, int n_pes, int me);
// Likewise a node and the first one. `is_me`: this PE speaks for the node.
void require_same_settings(const Settings& of_node, const Settings& first, const std::string& where,
                           bool is_me);

}  // namespace meshmem

#endif  // MESHMEM_CORE_SAME_SETTINGS_HPP_
