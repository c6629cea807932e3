// SPDX-License-Identifier: Apache-2.0
// Lets only processes of its own user connect to oshrun.
// Invariant: a connection of another user is closed before PMIx has read a byte of it. PMIx reads a
// newcomer's first message on the thread that serves all PEs and waits for it, and believes the
// user that the message claims.
// Set up by server.cpp before PMIx listens.
#ifndef MESHMEM_OSHRUN_VISITORS_HPP_
#define MESHMEM_OSHRUN_VISITORS_HPP_

#include <sys/types.h>

namespace meshmem {

// `tell` is called once, on PMIx's thread, with the first user who was refused.
void tell_of_strangers(void (*tell)(void* context, uid_t user), void* context);

}  // namespace meshmem

#endif  // MESHMEM_OSHRUN_VISITORS_HPP_
