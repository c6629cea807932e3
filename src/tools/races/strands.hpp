// SPDX-License-Identifier: Apache-2.0
//
// The strands of this PE (board's Worker), and what orders them: an object to which one releases
// what it knows, and from which another acquires it.
// Invariant: what is not seen orders too. Threads that are not seen to begin are strand 0, and
// strands beyond the most share one. Called by the program's hooks.
#ifndef MESHMEM_TOOLS_RACES_STRANDS_HPP_
#define MESHMEM_TOOLS_RACES_STRANDS_HPP_

#include <atomic>
#include <cstdint>

namespace meshmem::races {

// While it is 0, the PE's strands are ordered: one works, and knows what the others have done.
inline constinit std::atomic<int> n_parallel{0};
inline bool is_parallel() { return n_parallel.load(std::memory_order_relaxed) > 0; }

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

// Whether the address is of the stack that this thread has used since it began this work.
bool is_private_here(std::uint64_t address);
void forget_strands();

}  // namespace meshmem::races

#endif  // MESHMEM_TOOLS_RACES_STRANDS_HPP_
