// SPDX-License-Identifier: Apache-2.0
//
// The client of a meeting point (uniqueid_server.cpp), for processes that a framework has started.
// Invariant: a thread of its own reads all messages, so a PE ends with the others whatever it is
// doing. Made by connect_by_unique_id(), once a process.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <span>
#include <thread>

#include "base/error.hpp"
#include "base/machine/interfaces.hpp"
#include "base/machine/machine.hpp"
#include "base/machine/sockets.hpp"
#include "base/machine/thread.hpp"
#include "base/status/own_status.hpp"
#include "bootstrap/launcher_client.hpp"
#include "bootstrap/uniqueid_messages.hpp"

namespace meshmem {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

std::string name_of_process() { return fmt::format("host {}, pid {}", host_name(), getpid()); }

std::string text_of_place(const UniqueId& id) {
  std::string text;
  for (const in6_addr& address : std::span(id.addresses, id.n_addresses))
    text +=
        fmt::format("{}{} port {}", text.empty() ? "" : " or ", text_of_address(address), id.port);
  return text;
}

// Tries the addresses in turn until one answers. Ends the process if all refuse or the time is
// over.
int connect_to(const UniqueId& id, double timeout_seconds) {
  constexpr Seconds kForOneAddress(3);
  const Clock::time_point begin = Clock::now();
  const Seconds limit(timeout_seconds > 0 ? timeout_seconds : 1e9);
  const std::string port = fmt::format("{}", id.port);
  while (Clock::now() - begin < limit) {
    bool do_all_refuse = true;
    for (const in6_addr& address : std::span(id.addresses, id.n_addresses)) {
      const Seconds left = limit - (Clock::now() - begin);
      const int fd = connect_to_address(
          text_of_address(address), port,
          std::chrono::ceil<std::chrono::milliseconds>(std::min(left, kForOneAddress)));
      if (fd >= 0) return fd;
      const int error = errno;
      debug("cannot connect to {} port {}: {}", text_of_address(address), port, errno_text(error));
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
  void meet(const Meeting& meeting) override;
  std::string lookup(int pe, std::string_view key) override;
  void begin_use() override;
  void end_use(double timeout_seconds) override;
  // A PE may end silently while no PE is between init and finalize.
  void disconnect() override {}
  void abort(int status, const char*) override;

 private:
  std::string ask(MessageKind question, const Packed& body, MessageKind answer,
                  const AwaitedMeeting& awaited);
  std::optional<Message> await(Seconds limit);
  [[noreturn]] void end_in_wait(const AwaitedMeeting& awaited);
  void send(MessageKind kind, const Packed& body = {});
  void send_all(const std::string& bytes);

  // Called by the thread that reads.
  void read();
  void take(Message&& message);
  [[noreturn]] void end_with_others(const Message& message);
  [[noreturn]] void end_alone();

  const double timeout_seconds_;  // limit for an answer
  const bool is_maker_;
  const std::string where_;
  const int fd_;
  const pid_t process_ = getpid();
  bool has_neighbours_ = false;  // somewhere in the job two PEs share a machine

  std::mutex conversation_;  // held from a question to its answer
  std::mutex mutex_;         // guards answer_, is_in_use_ and is_lost_
  std::condition_variable changed_;
  std::optional<Message> answer_;
  bool is_in_use_ = true;
  bool is_lost_ = false;  // the connection has ended
  std::atomic<bool> aborts_{false}, is_ended_{false};
};

UniqueIdClient::UniqueIdClient(Job& job, const PlaceById& place, double timeout_seconds)
    : timeout_seconds_(timeout_seconds),
      is_maker_(place.is_maker),
      where_(text_of_place(place.id)),
      fd_(connect_to(place.id, timeout_seconds)) {
  set_up_connection(fd_);
  send_all(std::string(place.id.token.begin(), place.id.token.end()));
  start_thread("that hears of the other PEs", [this] { read(); }).detach();
  const Packed hello = Packed()
                           .add(static_cast<std::uint32_t>(job.n_pes))
                           .add(static_cast<std::uint32_t>(job.pe))
                           .add(is_maker_ ? 1U : 0U)
                           .add(identity_of_host())
                           .add(name_of_process());
  const std::string welcome =
      ask(MessageKind::hello, hello, MessageKind::welcome,
          awaited_in({Among::job, true, "shmemx_init_attr", timeout_seconds, kStartLimit}));
  std::vector<int> machines;
  PackedReader reader(welcome);
  for (int pe = 0; pe < job.n_pes; ++pe) machines.push_back(static_cast<int>(reader.number()));
  has_neighbours_ = fill_in_nodes(job, machines);
}

std::string UniqueIdClient::ask(MessageKind question, const Packed& body, MessageKind answer,
                                const AwaitedMeeting& awaited) {
  const std::lock_guard lock(conversation_);
  ShownWait shown(monotonic_ns());
  shown.say("waits for " + awaited.what);
  send(question, body);
  std::optional<Message> message = await(Seconds(awaited.seconds > 0 ? awaited.seconds : 1e9));
  if (!message) end_in_wait(awaited);
  if (message->kind != answer)
    fatal("the process that has made the unique id sent an invalid message");
  return std::move(message->body);
}

std::optional<Message> UniqueIdClient::await(Seconds limit) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, limit, [this] { return answer_.has_value(); })) return std::nullopt;
  return std::exchange(answer_, std::nullopt);
}

// Ends the job because of a timeout. Names the missing PEs, if the meeting point still answers.
void UniqueIdClient::end_in_wait(const AwaitedMeeting& awaited) {
  send(MessageKind::missing);
  const std::optional<Message> message = await(std::chrono::seconds(2));
  const bool is_named = message && message->kind == MessageKind::absent;
  const std::string who =
      is_named ? fmt::format("; {}", PackedReader(message->body).text()) : std::string();
  print_end_of_wait(awaited, who);
  abort(1, nullptr);
  _exit(1);
}

void UniqueIdClient::publish(std::string_view key, std::string_view value, Among) {
  send(MessageKind::put, Packed().add(key).add(value));
}

void UniqueIdClient::meet(const Meeting& meeting) {
  if (meeting.who == Among::node && !has_neighbours_) return;
  ask(MessageKind::meet, {}, MessageKind::met, awaited_of_all(meeting));
}

std::string UniqueIdClient::lookup(int pe, std::string_view key) {
  const std::string body = ask(
      MessageKind::get, Packed().add(static_cast<std::uint32_t>(pe)).add(key), MessageKind::value,
      {.what = fmt::format("'{}' of PE {}", key, pe),
       .seconds = timeout_seconds_,
       .limit = kStartLimit});
  PackedReader reader(body);
  if (reader.number() == 0) fatal("PE {} has not published '{}'", pe, key);
  return std::string(reader.text());
}

void UniqueIdClient::begin_use() {
  {
    const std::lock_guard lock(mutex_);
    is_in_use_ = true;
    if (is_lost_) end_alone();
  }
  send(MessageKind::active);
}

// The thread that reads clears is_in_use_ with the answer, so before it can see that other PEs end.
void UniqueIdClient::end_use(double timeout_seconds) {
  ask(MessageKind::idle, {}, MessageKind::all_idle, awaited_in(last_meeting(timeout_seconds)));
}

// If the meeting point is in this process, it ends with it. So wait until it has told the others,
// up to 2 s.
void UniqueIdClient::abort(int status, const char*) {
  if (getpid() != process_ || aborts_.exchange(true)) return;
  send(MessageKind::abort, Packed().add(static_cast<std::uint32_t>(status)));
  for (int i = 0; i < 2000 && is_maker_ && !is_ended_; ++i) usleep(1000);
}

void UniqueIdClient::send(MessageKind kind, const Packed& body) {
  send_all(pack_message(kind, body));
}

// Ignores send errors; the thread that reads notices the closed connection. Takes no lock: messages
// are far shorter than the socket's buffer, so those of two threads do not mix.
void UniqueIdClient::send_all(const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = ::send(fd_, &bytes[sent], bytes.size() - sent, MSG_NOSIGNAL);
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
      take(std::move(message));
    if (unpacked == Unpacked::invalid)
      fatal("the process that listens at {} did not make the unique id", where_);
  }
  {
    const std::lock_guard lock(mutex_);
    is_lost_ = true;
    if (!is_in_use_) return;  // begin_use() sees it
  }
  end_alone();
}

void UniqueIdClient::take(Message&& message) {
  if (message.kind == MessageKind::ended) end_with_others(message);
  {
    const std::lock_guard lock(mutex_);
    if (message.kind == MessageKind::all_idle) is_in_use_ = false;
    answer_ = std::move(message);
  }
  changed_.notify_one();
}

// If this PE has ended the job itself, only waits for its end: it has printed the reason already.
void UniqueIdClient::end_with_others(const Message& message) {
  is_ended_ = true;
  while (aborts_) pause();
  PackedReader reader(message.body);
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
  return *new UniqueIdClient(job, place, timeout_seconds);  // never freed: its thread uses it
}

}  // namespace meshmem
