// SPDX-License-Identifier: Apache-2.0
// The accept(2) of this process, in place of the C library's: the one place between the kernel and
// PMIx's server where a connection can be refused. PMIx's upcalls come after it has believed the
// client, and it ignores their answer.
// Invariant: PMIx's listener is the only caller. It takes a refused connection for no connection
// (EAGAIN), after which every version goes on listening. Newer ones stop at ECONNABORTED.
#include "visitors.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "peer_user.hpp"

namespace meshmem {
namespace {

// For the first message of a process of our own that connects and says nothing: PMIx would wait for
// it for ever, and everybody with it. PMIx sends it at once.
constexpr timeval kFirstMessagePatience{5, 0};

void (*tell_once)(void* context, uid_t user) = nullptr;
void* tell_context = nullptr;
std::atomic<bool> has_told{false};

bool is_welcome(int connection) {
  const PeerUser peer = user_of_peer(connection);
  if (!peer.can_be_known) return true;  // the job's name, 128 random bits, is what is left
  if (peer.user == ::geteuid()) return true;
  if (peer.user && tell_once != nullptr && !has_told.exchange(true))
    tell_once(tell_context, *peer.user);
  return false;
}

int accept_own(int listener, sockaddr* address, socklen_t* bytes) {
  const int connection = ::accept4(listener, address, bytes, SOCK_CLOEXEC);
  if (connection < 0) {
    if (errno == EBADF || errno == EINVAL) return connection;  // closed
    // At what passes, such as too few descriptors on the machine, PMIx would stop listening for
    // good.
    ::usleep(10000);
    errno = EAGAIN;
    return -1;
  }
  if (is_welcome(connection)) {
    ::setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &kFirstMessagePatience,
                 sizeof(kFirstMessagePatience));
    return connection;
  }
  ::close(connection);
  errno = EAGAIN;
  return -1;
}

}  // namespace

void tell_of_strangers(void (*tell)(void* context, uid_t user), void* context) {
  tell_context = context;
  tell_once = tell;
}

}  // namespace meshmem

// libpmix finds this one before the C library's, since the program comes first.
extern "C" [[gnu::visibility("default")]] int accept(int listener, sockaddr* address,
                                                     socklen_t* bytes) {
  return meshmem::accept_own(listener, address, bytes);
}
