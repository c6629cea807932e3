// SPDX-License-Identifier: Apache-2.0
//
// Which threads may call: by the level that the program asked for, and by the options of contexts.
// Also remembers which contexts are destroyed.
// Invariant: a call on a context that this thread may not use ends the job with a line. A call that
// the thread level does not allow prints a line, once. Called by checker, with its mutex held.
#ifndef MESHMEM_TOOLS_RACES_USERS_HPP_
#define MESHMEM_TOOLS_RACES_USERS_HPP_

#include "tools/races/call.hpp"

namespace meshmem::races {

void begin_use(const Call& call);
void end_use(const Call& call);

// The calling thread has initialized the library, with this level of threads.
void forget_users(int thread_level);

}  // namespace meshmem::races

#endif  // MESHMEM_TOOLS_RACES_USERS_HPP_
