// SPDX-License-Identifier: Apache-2.0
//
// The strands of this PE (board's Worker), and what orders them: an object to which one releases
// what it knows, and from which another acquires it.
// Invariant: what is not seen orders too. Threads that are not seen to begin are strand 0, and
// strands beyond the most share one. Called by the program's hooks.
#ifndef MESHMEM_TOOLS_RACES_STRANDS_HPP_
#define MESHMEM_TOOLS_RACES_STRANDS_HPP_

namespace meshmem::races {

void change_parallel(int change);
void release_to(const void* object);
void acquire_from(const void* object);
// This thread goes on as another strand, behind what was released to the object, and as the one
// before. frame: of the function in which the thread begins this work; nullptr: it had begun.
void begin_strand(const void* object, const void* frame);
void end_strand(const void* object);

// A volatile load is behind the call that tells of it: the thread's next event acquires.
void acquire_later(const void* object);
void acquire_what_is_due();

void forget_strands();

}  // namespace meshmem::races

#endif  // MESHMEM_TOOLS_RACES_STRANDS_HPP_
