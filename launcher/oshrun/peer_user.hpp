// SPDX-License-Identifier: Apache-2.0
// Whose process is at the other end of a TCP connection on this machine.
// Invariant: a user is named only if the kernel says that a living process of that user holds the
// other end; what a client says about itself does not count.
// Used by visitors.cpp.
#ifndef MESHMEM_OSHRUN_PEER_USER_HPP_
#define MESHMEM_OSHRUN_PEER_USER_HPP_

#include <sys/types.h>

#include <optional>

namespace meshmem {

struct PeerUser {
  bool can_be_known = true;   // false: this kernel does not tell who owns a connection
  std::optional<uid_t> user;  // none: closed already, or on another machine
};

PeerUser user_of_peer(int connection);

// Each of the two ways by itself, for tests.
PeerUser user_by_netlink(int connection);
PeerUser user_by_proc(int connection);

}  // namespace meshmem

#endif  // MESHMEM_OSHRUN_PEER_USER_HPP_
