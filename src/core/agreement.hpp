// SPDX-License-Identifier: Apache-2.0
//
// Compares the builds of the library that PEs run, since builds must agree on shared memory and
// messages. Also compares settings whose difference would make PEs wait for each other for ever.
// These are the heap's size, the table of MESHMEM_TUNING, the network, and the variables of
// Settings::shared.
// Invariant: the PE that differs says so and ends the job. No PE goes on with another build or
// other settings than the first one. Called by start-up, before a PE relies on anything else from
// another PE.
#ifndef MESHMEM_CORE_AGREEMENT_HPP_
#define MESHMEM_CORE_AGREEMENT_HPP_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/settings/environment.hpp"
#include "memory/arena.hpp"

namespace meshmem {

// ---- Builds

inline constexpr std::size_t kMostBuildBytes = 63;

// "0.1.0-cpu-<hash of the sources>-<hash of the layout>". Two builds have one name only if their
// sources are the same, and so is the layout of what PEs share. Compilers may differ, so machines
// may have builds of their own.
const std::string& build_name();

// True if the text looks like a build's name, so that it may be printed. Another process may have
// sent anything.
bool is_build_name(std::string_view text);

// Returns the line for a PE that runs another build than PE `pe`. `theirs`: the name that PE `pe`
// has given.
std::string other_build_line(int pe, std::string_view theirs);

// ---- Settings

// Puts the contents of the file that MESHMEM_TUNING names into `text`. Returns nullopt, or a line
// that says why it cannot. Reads only regular files of up to 1 MiB, so reading ends.
std::optional<std::string> read_tuning_file(const std::string& path, std::string& text);

// Returns the size of a PE's host heap: what SHMEM_SYMMETRIC_SIZE asks for, or else what suits a
// machine with `n_pes` PEs.
std::size_t heap_bytes(const Environment& environment, int n_pes);

// Fills in the part of this PE's entry that the others compare. `tuning`: the text of the table.
void tell_settings(DirectoryEntry& mine, const ArenaLayout& layout, const Environment& environment,
                   const std::string& tuning);

// Returns a line about a difference between `settings` and `first` that must not be, or nullopt.
// `where`: whose settings `first` is ("PE 0 on host a"). Heap sizes may differ if
// SHMEM_SYMMETRIC_SIZE is set for neither.
std::optional<std::string> difference_of(const Settings& settings, const Settings& first,
                                         const std::string& where);

// Ends the job unless all PEs of the arena have the same settings. Called when all entries are
// filled in.
void require_same_settings(const DirectoryEntry* directory, int n_pes, int me);
// The same for a node and the first node. `is_me`: this PE speaks for the node.
void require_same_settings(const Settings& of_node, const Settings& first, const std::string& where,
                           bool is_me);

}  // namespace meshmem

#endif  // MESHMEM_CORE_AGREEMENT_HPP_
