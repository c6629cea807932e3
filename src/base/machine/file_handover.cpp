// SPDX-License-Identifier: Apache-2.0
//
// A ticket is "<pid> <file descriptor> <inode> <socket name>". The socket has an abstract name, so
// it leaves no file. A thread serves it from offer_file() to end_offer().
// Invariant: a ticket is not trusted. The file is taken only if it is a sealed memory file of this
// user that nobody else may open. Its inode must be the offered one: the pid may be of another
// namespace.
#include "base/machine/file_handover.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>
#include <thread>

#include "base/error.hpp"
#include "base/machine/shared_file.hpp"
#include "base/machine/thread.hpp"

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
  sendmsg(connection, &message.header, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int receive_file(int connection) {
  FileMessage message;
  ssize_t bytes = 0;
  do {
    bytes = recvmsg(connection, &message.header, MSG_CMSG_CLOEXEC);
  } while (bytes < 0 && errno == EINTR);
  if (bytes <= 0) return -1;
  const cmsghdr* rights = CMSG_FIRSTHDR(&message.header);
  if (!rights || rights->cmsg_level != SOL_SOCKET || rights->cmsg_type != SCM_RIGHTS) return -1;
  int file = -1;
  std::memcpy(&file, CMSG_DATA(rights), sizeof file);
  return file;
}

// The user of the process at the other end, as it was when it connected or began to listen.
std::optional<uid_t> user_of_peer(int connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer.uid;
}

// Says why the file must not be used, or "". Checks only what stat(2) tells before it is opened.
std::string objection_to(const struct stat& file, unsigned long inode) {
  if (file.st_uid != geteuid())
    return fmt::format("refused: it belongs to user {} and not to user {}", file.st_uid, geteuid());
  if (!S_ISREG(file.st_mode)) return "refused: it is not a memory file";
  if ((file.st_mode & (S_IRWXG | S_IRWXO)) != 0) return "refused: other users may open it";
  if (file.st_ino != inode) return "refused: it is another file than the one offered";
  return "";
}

// Returns the file, or closes it and says why it must not be used.
TakenFile checked(int file, unsigned long inode) {
  struct stat about {};
  std::string objection = fstat(file, &about) != 0 ? errno_text() : objection_to(about, inode);
  if (objection.empty() && !is_shared_file(file))
    objection = "refused: it is not a memory file of a fixed size";
  if (objection.empty()) return {file, ""};
  close(file);
  return {-1, objection};
}

struct Offer {
  std::thread server;
  int stop = -1;
};
Offer offer;

// Never waits for a client: a stranger may connect often and send nothing.
void serve(int listener, int stop, int file) {
  for (;;) {
    pollfd events[] = {{listener, POLLIN, 0}, {stop, POLLIN, 0}};
    if (poll(events, 2, -1) < 0 && errno != EINTR) break;
    if (events[1].revents) break;
    if (!(events[0].revents & POLLIN)) continue;
    const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection < 0) {
      poll(&events[1], 1, 10);  // out of descriptors, for now
      continue;
    }
    if (user_of_peer(connection) == geteuid()) send_file(connection, file);
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

// The number that /proc gives this process. It differs from getpid() in a process namespace without
// a /proc of its own.
long number_in_proc() {
  char number[32] = "";
  const ssize_t length = readlink("/proc/self", number, sizeof number - 1);
  return length > 0 ? std::atol(number) : getpid();
}

// The limits are for connect(2), which waits while the listener's queue is full, and recvmsg(2).
int connect_to(const std::string& name) {
  const int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection < 0) return -1;
  constexpr timeval kPatience{30, 0};
  setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  sockaddr_un address;
  const socklen_t size = abstract_address(address, name);
  int status = 0;
  do {
    status = connect(connection, reinterpret_cast<const sockaddr*>(&address), size);
  } while (status != 0 && errno == EINTR);
  if (status == 0) return connection;
  const int error = errno;
  close(connection);
  errno = error;
  return -1;
}

}  // namespace

std::string offer_file(int file) {
  const std::string name = random_name();
  const int listener = check(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
                             "make a socket for start-up");
  sockaddr_un address;
  const socklen_t size = abstract_address(address, name);
  check(bind(listener, reinterpret_cast<const sockaddr*>(&address), size),
        "name the socket for start-up");
  check(listen(listener, SOMAXCONN), "listen for the other PEs");
  offer.stop = check(eventfd(0, EFD_CLOEXEC), "make an event for start-up");
  offer.server =
      start_thread("that hands out shared memory at start-up", serve, listener, offer.stop, file);
  struct stat offered {};
  check(fstat(file, &offered), "look at the shared memory of this node");
  return fmt::format("{} {} {} {}", number_in_proc(), file, offered.st_ino, name);
}

void end_offer() {
  if (!offer.server.joinable()) return;
  const std::uint64_t one = 1;
  check(write(offer.stop, &one, sizeof one), "end the start-up socket");
  offer.server.join();
  close(offer.stop);
}

TakenFile take_through_proc(const std::string& text) {
  const Ticket ticket = parse(text);
  const std::string path = fmt::format("/proc/{}/fd/{}", ticket.pid, ticket.file);
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) return {-1, errno_text()};
  // Check before it is opened: a wrong number may name something whose opening waits.
  if (std::string objection = objection_to(about, ticket.inode); !objection.empty())
    return {-1, objection};
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return {-1, errno_text()};
  return checked(file, ticket.inode);
}

TakenFile take_through_socket(const std::string& text) {
  const Ticket ticket = parse(text);
  const int connection = connect_to(ticket.socket_name);
  if (connection < 0) return {-1, errno_text()};
  const std::optional<uid_t> user = user_of_peer(connection);
  const bool is_own = user == geteuid();
  const int file = is_own ? receive_file(connection) : -1;
  close(connection);
  if (!is_own)
    return {-1, fmt::format("refused: it is served by user {} and not by user {}",
                            user.value_or(static_cast<uid_t>(-1)), geteuid())};
  if (file < 0) return {-1, "it was closed without a file"};
  return checked(file, ticket.inode);
}

int take_file(const std::string& ticket) {
  const TakenFile by_proc = take_through_proc(ticket);
  if (by_proc.file >= 0) return by_proc.file;
  const TakenFile by_socket = take_through_socket(ticket);
  if (by_socket.file < 0) {
    wait_for_others_to_report();  // the first PE may have printed why it ended
    fatal(
        "cannot take the shared memory of the first PE of this node (/proc/<pid>/fd: {}; socket: "
        "{}); all PEs of a node must run as one user and see one network namespace",
        by_proc.why_not, by_socket.why_not);
  }
  return by_socket.file;
}

}  // namespace meshmem
