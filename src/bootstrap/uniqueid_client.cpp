// SPDX-License-Identifier: Apache-2.0
//
// The client of a meeting point (uniqueid_server.hpp), for processes that a framework has started.
// Invariant: one thread reads all that comes, so that a PE in any wait ends with the others. Made
// by connect_by_unique_id(), once a process.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "base/error.hpp"
#include "base/machine/thread.hpp"
#include "base/status/own_status.hpp"
#include "bootstrap/host_identity.hpp"
#include "bootstrap/launcher_client.hpp"
#include "bootstrap/unforked_descriptors.hpp"
#include "bootstrap/uniqueid_messages.hpp"

namespace meshmem {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

struct Awaited {
  std::string what;  // goes on from "waited 60 s for "
  double seconds;    // 0: for ever
  const char* limit;
};

std::string name_of_process() {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  return fmt::format("host {}, pid {}", static_cast<const char*>(host), getpid());
}

int milliseconds_until(Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000'000));
}

// 0, or the error. Leaves a socket that blocks.
int try_connect(int fd, const sockaddr* address, socklen_t size, Clock::time_point end) {
  if (connect(fd, address, size) == 0 || errno == EISCONN) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd wanted{.fd = fd, .events = POLLOUT, .revents = 0};
  int found = 0;
  while ((found = poll(&wanted, 1, milliseconds_until(end))) < 0) {
  }
  if (found == 0) return ETIMEDOUT;
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

// -1 and errno.
int try_connect(const in6_addr& address, std::uint16_t port, Clock::time_point end) {
  sockaddr_in6 ipv6{};
  ipv6.sin6_family = AF_INET6;
  ipv6.sin6_addr = address;
  ipv6.sin6_port = htons(port);
  sockaddr_in ipv4{};
  ipv4.sin_family = AF_INET;
  ipv4.sin_port = ipv6.sin6_port;
  std::memcpy(&ipv4.sin_addr, address.s6_addr + 12, sizeof ipv4.sin_addr);
  const bool is_ipv4 = IN6_IS_ADDR_V4MAPPED(&address);
  const auto* where =
      is_ipv4 ? reinterpret_cast<const sockaddr*>(&ipv4) : reinterpret_cast<const sockaddr*>(&ipv6);
  const int fd = socket(where->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  const int error = try_connect(fd, where, is_ipv4 ? sizeof ipv4 : sizeof ipv6, end);
  if (error == 0) {
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return fd;
  }
  close(fd);
  errno = error;
  return -1;
}

std::string text_of_place(const UniqueId& id) {
  std::string text;
  for (const in6_addr& address : id.addresses)
    text += (text.empty() ? "" : " or ") + text_of_address(address, id.port);
  return text;
}

// Every address in turn, until one answers, all refuse, or the time is over.
int connect_to(const UniqueId& id, double timeout_seconds) {
  constexpr auto kForOneAddress = std::chrono::seconds(3);
  const Clock::time_point begin = Clock::now();
  const Seconds limit(timeout_seconds > 0 ? timeout_seconds : 1e9);
  while (Clock::now() - begin < limit) {
    bool do_all_refuse = true;
    for (const in6_addr& address : id.addresses) {
      const auto end = begin + std::chrono::duration_cast<Clock::duration>(limit);
      const int fd = try_connect(address, id.port, std::min(end, Clock::now() + kForOneAddress));
      if (fd >= 0) return fd;
      const int error = errno;
      debug("cannot connect to {}: {}", text_of_address(address, id.port), errno_text(error));
      do_all_refuse &= error == ECONNREFUSED;
    }
    if (do_all_refuse) {
      fatal("nobody listens at {}: the process that has made the unique id has ended",
            text_of_place(id));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  print_line(fmt::format(
      "waited {:g} s for {} to answer, where the unique id has been made; the limit is {}",
      timeout_seconds, text_of_place(id), kStartLimit));
  _exit(1);
}

class UniqueIdClient final : public LauncherClient {
 public:
  UniqueIdClient(Job& job, const PlaceById& place, double timeout_seconds);

  void publish(std::string_view key, std::string_view value, Among) override;
  void exchange_published(Among who, double timeout_seconds) override;
  std::string lookup(int pe, std::string_view key) override;
  void meet_at_end(double timeout_seconds) override;
  void begin_use() override;
  void end_use(double timeout_seconds) override;
  // Where nobody uses the library, a PE may end without a word.
  void disconnect() override {}
  void abort(int status, const char*) override;

 private:
  std::string ask(Say question, const Body& body, Say answer, const Awaited& awaited);
  std::optional<Message> await(Seconds limit);
  [[noreturn]] void end_in_wait(const Awaited& awaited);
  void meet(Among who, const char* routine, const Awaited& awaited);
  void say(Say kind, const Body& body = {});
  void send_all(const std::string& bytes);

  // By the thread that reads.
  void read();
  void hear(Message&& message);
  [[noreturn]] void end_with_others(const Message& message);
  [[noreturn]] void end_alone();

  const Job& job_;
  const double timeout_seconds_;  // of an answer
  const bool is_host_;
  const std::string where_;
  const int fd_;
  const pid_t process_ = getpid();

  std::mutex conversation_;  // of who asks
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Message> heard_;
  bool is_in_use_ = true;
  std::atomic<bool> aborts_{false}, is_heard_{false};
};

UniqueIdClient::UniqueIdClient(Job& job, const PlaceById& place, double timeout_seconds)
    : job_(job),
      timeout_seconds_(timeout_seconds),
      is_host_(place.is_host),
      where_(text_of_place(place.id)),
      fd_(connect_to(place.id, timeout_seconds)) {
  keep_from_children(fd_);
  set_up_connection(fd_);
  send_all(std::string(place.id.token.begin(), place.id.token.end()));
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are the program's business
  start_thread("that hears of the other PEs", [this] { read(); }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  const Body hello = Body()
                         .add(static_cast<std::uint32_t>(job.n_pes))
                         .add(static_cast<std::uint32_t>(job.pe))
                         .add(is_host_ ? 1U : 0U)
                         .add(identity_of_host())
                         .add(name_of_process());
  const std::string welcome =
      ask(Say::hello, hello, Say::welcome,
          {.what = fmt::format("all {} PEs to call shmemx_init_attr", job.n_pes),
           .seconds = timeout_seconds,
           .limit = kStartLimit});
  std::vector<std::uint32_t> machines;
  BodyReader reader(welcome);
  for (int pe = 0; pe < job.n_pes; ++pe) machines.push_back(reader.number());
  for (int pe = 0; pe < job.n_pes; ++pe) {
    if (machines[static_cast<std::size_t>(pe)] == machines[static_cast<std::size_t>(job.pe)])
      job.node_pes.push_back(pe);
  }
}

std::string UniqueIdClient::ask(Say question, const Body& body, Say answer,
                                const Awaited& awaited) {
  const std::lock_guard lock(conversation_);
  ShownWait shown(monotonic_ns());
  shown.say("waits for " + awaited.what);
  say(question, body);
  std::optional<Message> message = await(Seconds(awaited.seconds > 0 ? awaited.seconds : 1e9));
  if (!message) end_in_wait(awaited);
  if (message->kind != answer)
    fatal("the process that has made the unique id sent an invalid message");
  return std::move(message->body);
}

std::optional<Message> UniqueIdClient::await(Seconds limit) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, limit, [this] { return heard_.has_value(); })) return std::nullopt;
  return std::exchange(heard_, std::nullopt);
}

// Names those who have not come, if the meeting point still answers.
void UniqueIdClient::end_in_wait(const Awaited& awaited) {
  say(Say::missing);
  const std::optional<Message> message = await(std::chrono::seconds(2));
  const bool is_named = message && message->kind == Say::absent;
  const std::string who =
      is_named ? fmt::format("; {}", BodyReader(message->body).text()) : std::string();
  print_line(fmt::format("waited {:g} s for {}{}; the limit is {}", awaited.seconds, awaited.what,
                         who, awaited.limit));
  print_status_table();
  abort(1, nullptr);
  _exit(1);
}

void UniqueIdClient::publish(std::string_view key, std::string_view value, Among) {
  say(Say::put, Body().add(key).add(value));
}

void UniqueIdClient::meet(Among who, const char* routine, const Awaited& awaited) {
  Awaited named = awaited;
  named.what = who == Among::job ? fmt::format("all {} PEs to call {}", job_.n_pes, routine)
                                 : fmt::format("the {} PEs of this machine to call {}",
                                               job_.node_pes.size(), routine);
  ask(Say::meet, Body().add(who == Among::node ? 1U : 0U), Say::met, named);
}

void UniqueIdClient::exchange_published(Among who, double timeout_seconds) {
  if (who == Among::node && job_.node_pes.size() == 1) return;
  meet(who, "shmem_init", {.what = {}, .seconds = timeout_seconds, .limit = kStartLimit});
}

void UniqueIdClient::meet_at_end(double timeout_seconds) {
  meet(Among::job, "shmem_finalize",
       {.what = {}, .seconds = timeout_seconds, .limit = "MESHMEM_TIMEOUT"});
}

std::string UniqueIdClient::lookup(int pe, std::string_view key) {
  const std::string body =
      ask(Say::get, Body().add(static_cast<std::uint32_t>(pe)).add(key), Say::value,
          {.what = fmt::format("'{}' of PE {}", key, pe),
           .seconds = timeout_seconds_,
           .limit = kStartLimit});
  BodyReader reader(body);
  if (reader.number() == 0) fatal("PE {} has not published '{}'", pe, key);
  return std::string(reader.text());
}

void UniqueIdClient::begin_use() {
  {
    const std::lock_guard lock(mutex_);
    is_in_use_ = true;
  }
  say(Say::active);
}

// The thread that reads says that it is over, before it can see that others have gone.
void UniqueIdClient::end_use(double timeout_seconds) {
  ask(Say::idle, {}, Say::all_idle,
      {.what = fmt::format("all {} PEs to call shmem_finalize", job_.n_pes),
       .seconds = timeout_seconds,
       .limit = "MESHMEM_TIMEOUT"});
}

// The meeting point ends with this process where it is here, so it has to tell the others first.
void UniqueIdClient::abort(int status, const char*) {
  if (getpid() != process_ || aborts_.exchange(true)) return;
  const std::string bytes =
      pack_message(Say::abort, Body().add(static_cast<std::uint32_t>(status)));
  [[maybe_unused]] const ssize_t n = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  for (int i = 0; i < 2000 && is_host_ && !is_heard_; ++i) usleep(1000);
}

void UniqueIdClient::say(Say kind, const Body& body) { send_all(pack_message(kind, body)); }

// Ignores send errors; the thread that reads notices the closed connection.
void UniqueIdClient::send_all(const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = send(fd_, &bytes[sent], bytes.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno != EINTR) return;
    if (n > 0) sent += static_cast<std::size_t>(n);
  }
}

void UniqueIdClient::read() {
  std::string received;
  char bytes[1 << 14];
  while (true) {
    const ssize_t n = recv(fd_, bytes, sizeof bytes, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    received.append(bytes, static_cast<std::size_t>(n));
    Message message{};
    Unpacked unpacked{};
    while ((unpacked = unpack_message(received, message)) == Unpacked::whole)
      hear(std::move(message));
    if (unpacked == Unpacked::nonsense)
      fatal("the process that listens at {} did not make the unique id", where_);
  }
  {
    const std::lock_guard lock(mutex_);
    if (!is_in_use_) return;
  }
  end_alone();
}

void UniqueIdClient::hear(Message&& message) {
  if (message.kind == Say::ended) end_with_others(message);
  {
    const std::lock_guard lock(mutex_);
    if (message.kind == Say::all_idle) is_in_use_ = false;
    heard_ = std::move(message);
  }
  changed_.notify_one();
}

// One that has ended the job itself has said why, and is about to end.
void UniqueIdClient::end_with_others(const Message& message) {
  is_heard_ = true;
  while (aborts_) pause();
  BodyReader reader(message.body);
  const int status = static_cast<int>(reader.number());
  if (status != 0) print_line(fmt::format("{}; this PE ends too", reader.text()));
  _exit(status);
}

void UniqueIdClient::end_alone() {
  while (aborts_) pause();
  print_line(fmt::format("the process that has made the unique id ({}) is gone; this PE ends too",
                         where_));
  _exit(1);
}

}  // namespace

LauncherClient& connect_by_unique_id(Job& job, const PlaceById& place, double timeout_seconds) {
  job.pe = place.pe;
  job.n_pes = place.n_pes;
  set_identity(job.pe);
  return *new UniqueIdClient(job, place, timeout_seconds);  // for its thread, until all ends
}

}  // namespace meshmem
