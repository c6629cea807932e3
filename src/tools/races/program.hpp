// SPDX-License-Identifier: Apache-2.0
//
// The program's own loads and stores, if `oshcc --races` has compiled it. These are in symmetric
// memory, of this PE and by shmem_ptr of others, and in other memory that calls under way use.
// Invariant: an atomic or volatile load orders as a test that has seen the value does, and races
// with nothing. An atomic or volatile store counts as an atomic. Called by checker.
#ifndef MESHMEM_TOOLS_RACES_PROGRAM_HPP_
#define MESHMEM_TOOLS_RACES_PROGRAM_HPP_

namespace meshmem::races {

// Sets the hooks, so that the program reports its accesses from now on. False: it was not built so.
bool watch_program();
void leave_program();  // takes no lock: a child of fork may find one held by a thread it lacks

// Learns from the values that earlier volatile loads have seen.
void see_watched();

}  // namespace meshmem::races

#endif  // MESHMEM_TOOLS_RACES_PROGRAM_HPP_
