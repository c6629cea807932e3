// SPDX-License-Identifier: Apache-2.0
//
// The strands of this PE (Worker in board.hpp), and what orders them: one strand releases what it
// knows to an object, and another acquires it from there.
// Invariant: threads that the checker cannot tell apart count as ordered. Those whose begin it does
// not see are strand 0, and strands beyond the maximum share one. Called by the program's hooks.
#ifndef MESHMEM_TOOLS_RACES_STRANDS_HPP_
#define MESHMEM_TOOLS_RACES_STRANDS_HPP_

namespace meshmem::races {

void change_parallel(int change);  // as AccessHooks::change_parallel
void release_to(const void* object);
void acquire_from(const void* object);
// Between these two this thread works as another strand. begin_strand() acquires from its object,
// and end_strand() releases to its own. frame: where the stack of this work begins; nullptr: where
// it has begun before.
void begin_strand(const void* object, const void* frame);
void end_strand(const void* object);

// The hook of a volatile load is called before the load. So acquire_later() only notes the object,
// and the thread's next event acquires from it by acquire_what_is_due().
void acquire_later(const void* object);
void acquire_what_is_due();

void forget_strands();

}  // namespace meshmem::races

#endif  // MESHMEM_TOOLS_RACES_STRANDS_HPP_
