// SPDX-License-Identifier: Apache-2.0
//
// The program's own loads and stores of symmetric memory, of this PE and through shmem_ptr, where
// the program was built by `oshcc --races`. Also those of own memory that calls under way use.
// Invariant: an atomic or volatile load orders as a test that has seen the value does, and is no
// access. A store of that kind is an atomic of the program's. Called by checker.
#ifndef MESHMEM_TOOLS_RACES_PROGRAM_HPP_
#define MESHMEM_TOOLS_RACES_PROGRAM_HPP_

namespace meshmem::races {

// Whether the program tells of its accesses. From now on it does.
bool watch_program();
void leave_program();  // takes no lock: also in a child, where other threads may have left one held

// Notes what earlier volatile loads have brought.
void see_watched();

}  // namespace meshmem::races

#endif  // MESHMEM_TOOLS_RACES_PROGRAM_HPP_
