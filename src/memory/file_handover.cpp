// SPDX-License-Identifier: Apache-2.0
//
// A ticket is "<pid> <file descriptor> <inode> <socket name>". The socket has an abstract name, so
// it leaves no file, and is served by a thread that lives from offer_file() to end_offer().
// Invariant: a file that is not the one offered (a pid of another namespace) is not taken: the
// inode decides.
#include "memory/file_handover.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <sstream>
#include <thread>

#include "base/error.hpp"
#include "base/thread.hpp"

namespace meshmem {
namespace {

struct Ticket {
  long pid = 0;
  int file = -1;
  unsigned long inode = 0;
  std::string socket_name;
};

Ticket parse(const std::string& text) {
  Ticket ticket;
  std::istringstream words(text);
  if (!(words >> ticket.pid >> ticket.file >> ticket.inode >> ticket.socket_name))
    fatal("the start-up data '{}' cannot be read", text);
  return ticket;
}

socklen_t abstract_address(sockaddr_un& address, const std::string& name) {
  address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(),
              name.size());  // a leading zero makes the name abstract
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

// A message of one byte that carries, or makes room for, one file descriptor.
struct FileMessage {
  char byte = 'f';
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  FileMessage() {
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
  }
};

void send_file(int connection, int file) {
  FileMessage message;
  cmsghdr* rights = CMSG_FIRSTHDR(&message.header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof file);
  std::memcpy(CMSG_DATA(rights), &file, sizeof file);
  sendmsg(connection, &message.header, MSG_NOSIGNAL);
}

int receive_file(int connection) {
  FileMessage message;
  if (recvmsg(connection, &message.header, MSG_CMSG_CLOEXEC) <= 0) return -1;
  const cmsghdr* rights = CMSG_FIRSTHDR(&message.header);
  if (!rights || rights->cmsg_type != SCM_RIGHTS) return -1;
  int file = -1;
  std::memcpy(&file, CMSG_DATA(rights), sizeof file);
  return file;
}

bool is_same_user(int connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == geteuid();
}

struct Offer {
  std::thread server;
  int stop = -1;
};
Offer offer;

void serve(int listener, int stop, int file) {
  for (;;) {
    pollfd events[] = {{listener, POLLIN, 0}, {stop, POLLIN, 0}};
    if (poll(events, 2, -1) < 0 && errno != EINTR) break;
    if (events[1].revents) break;
    if (!(events[0].revents & POLLIN)) continue;
    const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    if (is_same_user(connection)) send_file(connection, file);
    close(connection);
  }
  close(listener);
}

std::string random_name() {
  unsigned long words[2] = {};
  if (getrandom(words, sizeof words, 0) != sizeof words)
    fatal("cannot get random bytes: {}", errno_text());
  return fmt::format("meshmem-{:x}{:x}", words[0], words[1]);
}

int with_inode(int file, unsigned long inode) {
  struct stat found {};
  if (file >= 0 && (fstat(file, &found) != 0 || found.st_ino != inode)) {
    close(file);
    errno = ESTALE;
    return -1;
  }
  return file;
}

}  // namespace

std::string offer_file(int file) {
  const std::string name = random_name();
  const int listener =
      check(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "make a socket for start-up");
  sockaddr_un address;
  const socklen_t size = abstract_address(address, name);
  check(bind(listener, reinterpret_cast<const sockaddr*>(&address), size),
        "name the socket for start-up");
  check(listen(listener, SOMAXCONN), "listen for the other PEs");
  offer.stop = check(eventfd(0, EFD_CLOEXEC), "make an event for start-up");
  offer.server = start_thread("that hands the shared memory to the other PEs", serve, listener,
                              offer.stop, file);
  struct stat offered {};
  check(fstat(file, &offered), "look at the shared memory of this node");
  return fmt::format("{} {} {} {}", getpid(), file, offered.st_ino, name);
}

void end_offer() {
  if (!offer.server.joinable()) return;
  const std::uint64_t one = 1;
  check(write(offer.stop, &one, sizeof one), "end the start-up socket");
  offer.server.join();
  close(offer.stop);
}

int take_through_proc(const std::string& text) {
  const Ticket ticket = parse(text);
  const int file =
      open(fmt::format("/proc/{}/fd/{}", ticket.pid, ticket.file).c_str(), O_RDWR | O_CLOEXEC);
  return with_inode(file, ticket.inode);
}

int take_through_socket(const std::string& text) {
  const Ticket ticket = parse(text);
  const int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection < 0) return -1;
  sockaddr_un address;
  const socklen_t size = abstract_address(address, ticket.socket_name);
  int file = -1;
  if (connect(connection, reinterpret_cast<const sockaddr*>(&address), size) == 0)
    file = receive_file(connection);
  close(connection);
  return with_inode(file, ticket.inode);
}

int take_file(const std::string& ticket) {
  int file = take_through_proc(ticket);
  if (file >= 0) return file;
  const int error = errno;
  file = take_through_socket(ticket);
  if (file < 0) {
    fatal(
        "cannot reach the shared memory of the first PE of this node ({}: {}; socket: {}): all PEs "
        "of a node must run as one user",
        "/proc/<pid>/fd", errno_text(error), errno_text());
  }
  return file;
}

}  // namespace meshmem
