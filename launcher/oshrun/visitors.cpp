// SPDX-License-Identifier: Apache-2.0
// The accept(2) of this process, in place of the C library's: the one place between the kernel and
// PMIx's server where a connection can be refused. PMIx reads a newcomer's first message on the
// thread that serves all PEs, waits for it and believes the user that it claims. Its upcalls come
// later, and it ignores their answer.
// Invariant: a connection of another user is closed before PMIx has read a byte of it. PMIx's
// listener is the only caller. A refused connection looks like no connection to it (EAGAIN), so
// every version goes on listening. At ECONNABORTED newer versions would stop.
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "peer_user.hpp"
#include "server.hpp"

namespace meshmem {
namespace {

// PMIx serves no PE while it waits for a newcomer's first message. A process of this user that
// sends no message must not block it for ever. A PMIx client sends its message at once.
constexpr timeval kFirstMessagePatience{5, 0};

std::atomic<EventPipe*> pipe_of_refusals{nullptr};  // null after the first one

bool is_welcome(int connection) {
  const PeerUser peer = user_of_peer(connection);
  if (!peer.can_be_known) return true;  // then only the job's secret name protects it
  if (peer.user == ::geteuid()) return true;
  // A PE's program may have become another user, which oshrun should say: the program itself only
  // finds the server "unreachable".
  EventPipe* const events = peer.user ? pipe_of_refusals.exchange(nullptr) : nullptr;
  if (events != nullptr) events->post({ServerEvent::kRefused, 0, static_cast<int>(*peer.user)});
  return false;
}

}  // namespace

void admit_own_user_only(EventPipe& refusals) { pipe_of_refusals = &refusals; }

}  // namespace meshmem

// libpmix finds this one before the C library's, since the program comes first.
extern "C" [[gnu::visibility("default")]] int accept(int listener, sockaddr* address,
                                                     socklen_t* bytes) {
  const int connection = ::accept4(listener, address, bytes, SOCK_CLOEXEC);
  if (connection < 0) {
    if (errno == EBADF || errno == EINVAL) return connection;  // closed
    // Other errors pass, such as too few descriptors on the machine. PMIx would stop listening for
    // good.
    ::usleep(10000);
    errno = EAGAIN;
    return -1;
  }
  if (meshmem::is_welcome(connection)) {
    ::setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &meshmem::kFirstMessagePatience,
                 sizeof(meshmem::kFirstMessagePatience));
    return connection;
  }
  ::close(connection);
  errno = EAGAIN;
  return -1;
}
