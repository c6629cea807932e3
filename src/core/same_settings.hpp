// SPDX-License-Identifier: Apache-2.0
//
// What PEs do differently if their settings differ, so that they would wait for each other for
// ever:
// the heap's size, the table of MESHMEM_TUNING, the variables that choose how reductions are done.
// Invariant: the PE that differs says so and ends the job; no PE goes on with other settings than
// PE 0 of the node. Called by start-up.
#ifndef MESHMEM_CORE_SAME_SETTINGS_HPP_
#define MESHMEM_CORE_SAME_SETTINGS_HPP_

#include <cstddef>
#include <string>

#include "base/environment.hpp"
#include "memory/arena.hpp"

namespace meshmem {

// What SHMEM_SYMMETRIC_SIZE asks for, or what suits the machine.
std::size_t heap_bytes(const Environment& environment, int n_pes);

// Fills in what the others compare of this PE's entry, which has the node's layout so far.
// `tuning`: the text of the table.
void tell_settings(DirectoryEntry& mine, const Environment& environment, const std::string& tuning);

// Returns if all are the same. Once all entries are filled in.
void require_same_settings(const DirectoryEntry* directory, int n_pes, int me);

// PEs of one job that have nothing in common: the static data of another program is no copy of
// mine.
bool run_one_program(const DirectoryEntry* directory, int n_pes);

// A memory checker runs one of the PEs at least.
bool is_any_checked(const DirectoryEntry* directory, int n_pes);

}  // namespace meshmem

#endif  // MESHMEM_CORE_SAME_SETTINGS_HPP_
