// SPDX-License-Identifier: Apache-2.0
//
// The meeting point of a job without a launcher: a thread of the process that has made the unique
// id. PEs connect to it by TCP and exchange start-up data. It notices when a PE is gone.
// Invariant: a guest gets no byte before it has sent the token. The thread never waits for a single
// PE: it keeps bytes that a PE does not take yet. Its process need not be a PE.
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "base/machine/hmac.hpp"
#include "base/machine/interfaces.hpp"
#include "base/machine/machine.hpp"
#include "base/machine/sockets.hpp"
#include "base/machine/thread.hpp"
#include "bootstrap/uniqueid.hpp"
#include "bootstrap/uniqueid_messages.hpp"

namespace meshmem {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kTimeForToken = std::chrono::seconds(10);
constexpr int kMostAtOnce = 64, kMostStrangers = 256;
constexpr std::uint32_t kMostPes = 1 << 24;
// The ends of lines about a PE that was using the library, and about one that has ended between two
// uses.
constexpr const char *kIsGone = " is gone",
                     *kHasEnded = " has ended, so that the others cannot start again";

// Which meeting a guest waits in: one of `meet`, or one of `idle`.
enum class In { nothing, meeting, goodbye };

// A connection.
struct Guest {
  int fd = -1;
  Clock::time_point came = Clock::now();
  bool has_token = false;
  int pe = -1;  // its PE, once it has sent hello
  bool is_maker = false;
  bool is_active = false;
  In in = In::nothing;
  std::string machine, name;
  std::string received, to_send;
};

// Calls call() for each guest, last for the PE of this process: as soon as it gets a message it may
// end the process, and so this thread.
template <typename Call>
void for_each_maker_last(const std::vector<Guest*>& guests, Call call) {
  for (const bool are_makers : {false, true})
    for (Guest* guest : guests)
      if (guest->is_maker == are_makers) call(*guest);
}

class MeetingPoint {
 public:
  MeetingPoint(int listener, const UniqueIdToken& token) : listener_(listener), token_(token) {}
  [[noreturn]] void serve();

 private:
  void accept_guests();
  void drop_strangers();
  void read_from(Guest& guest);
  void write_to(Guest& guest);
  void answer(Guest& guest, const Message& message);
  void send(Guest& guest, MessageKind kind, const Packed& body = {});
  void drop(Guest& guest);  // closes the connection; serve() removes the guest
  void lose(Guest& guest);  // drops a guest whose connection has ended or is invalid

  void welcome(Guest& guest, PackedReader body);
  void welcome_all();
  void put(const Guest& guest, PackedReader body);
  void get(Guest& guest, PackedReader body);
  void meet(Guest& guest, In what);
  void activate(Guest& guest);
  std::string missing_to(const Guest& guest) const;
  void end_job(std::uint32_t status, const std::string& text);
  bool is_anyone_active() const;
  std::string text_of(const Guest& guest) const;

  const int listener_;
  const UniqueIdToken token_;
  Clock::time_point listens_again_{};  // after a lack of descriptors
  std::list<Guest> guests_;
  std::uint32_t n_pes_ = 0;  // as the first PE has said; 0: none has come
  std::vector<Guest*> pes_;  // by PE; nullptr: not here
  std::uint32_t n_arrived_ = 0;
  std::map<std::pair<int, std::string>, std::string> values_;
  std::string ended_pe_;  // a PE that ended while no PE used the library; empty: none
  bool is_over_ = false;
  Packed end_;
};

void MeetingPoint::serve() {
  std::vector<pollfd> awaited;
  while (true) {
    const bool listens = Clock::now() >= listens_again_;
    bool has_strangers = !listens;
    awaited.assign(1, {.fd = listens ? listener_ : -1, .events = POLLIN, .revents = 0});
    for (Guest& guest : guests_) {
      const int write = guest.to_send.empty() ? 0 : POLLOUT;
      awaited.push_back({guest.fd, static_cast<short>(POLLIN | write), 0});
      has_strangers |= !guest.has_token;
    }
    if (poll(awaited.data(), awaited.size(), has_strangers ? 200 : -1) < 0) continue;
    std::size_t i = 1;
    for (Guest& guest : guests_) {
      const int events = awaited[i++].revents;
      if (guest.fd >= 0 && (events & POLLOUT) != 0) write_to(guest);
      if (guest.fd >= 0 && (events & ~POLLOUT) != 0) read_from(guest);
      if (guest.fd >= 0 && !guest.has_token && Clock::now() - guest.came > kTimeForToken)
        drop(guest);
    }
    if (awaited[0].revents != 0) accept_guests();
    guests_.remove_if([](const Guest& guest) { return guest.fd < 0; });
  }
}

void MeetingPoint::accept_guests() {
  for (int i = 0; i < kMostAtOnce; ++i) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS))
      listens_again_ = Clock::now() + std::chrono::milliseconds(200);
    if (fd < 0) break;
    set_up_connection(fd);
    guests_.emplace_back().fd = fd;
  }
  drop_strangers();
}

// Drops the oldest guests without a token if there are too many. PEs send the token at once, so the
// oldest are most likely strangers.
void MeetingPoint::drop_strangers() {
  auto n = std::count_if(guests_.begin(), guests_.end(),
                         [](const Guest& guest) { return !guest.has_token; });
  for (Guest& guest : guests_)
    if (!guest.has_token && n-- > kMostStrangers) drop(guest);
}

void MeetingPoint::drop(Guest& guest) {
  close_kept_from_children(guest.fd);
  guest.fd = -1;
  if (guest.pe >= 0 && pes_[static_cast<std::size_t>(guest.pe)] == &guest)
    pes_[static_cast<std::size_t>(guest.pe)] = nullptr;
}

// Ends the job if any PE uses the library. Otherwise a PE may end silently.
void MeetingPoint::lose(Guest& guest) {
  const bool is_missed = guest.pe >= 0 && is_anyone_active();
  if (guest.pe >= 0) ended_pe_ = text_of(guest);
  const char* const what = guest.is_active ? kIsGone : kHasEnded;
  drop(guest);
  if (is_missed) end_job(1, ended_pe_ + what);
}

void MeetingPoint::read_from(Guest& guest) {
  char bytes[1 << 16];
  const ssize_t n = recv(guest.fd, bytes, sizeof bytes, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return lose(guest);
  guest.received.append(bytes, static_cast<std::size_t>(n));
  if (!guest.has_token) {
    if (guest.received.size() < token_.size()) return;
    UniqueIdToken said;
    std::copy_n(guest.received.begin(), said.size(), said.begin());
    if (!is_same(said, token_)) return drop(guest);
    guest.has_token = true;
    guest.received.erase(0, token_.size());
  }
  Message message{};
  while (guest.fd >= 0) {
    const Unpacked unpacked = unpack_message(guest.received, message);
    if (unpacked == Unpacked::more_to_come) return;
    if (unpacked == Unpacked::invalid) return lose(guest);
    answer(guest, message);
  }
}

void MeetingPoint::write_to(Guest& guest) {
  const ssize_t n = ::send(guest.fd, guest.to_send.data(), guest.to_send.size(), MSG_NOSIGNAL);
  if (n > 0) guest.to_send.erase(0, static_cast<std::size_t>(n));
}

void MeetingPoint::send(Guest& guest, MessageKind kind, const Packed& body) {
  if (guest.fd < 0) return;
  guest.to_send += pack_message(kind, body);
  write_to(guest);  // the rest is sent when poll() allows; read_from() notices a lost connection
}

void MeetingPoint::answer(Guest& guest, const Message& message) {
  const PackedReader body(message.body);
  if (is_over_) return send(guest, MessageKind::ended, end_);
  if (message.kind == MessageKind::hello && guest.pe < 0) return welcome(guest, body);
  if (guest.pe < 0) return drop(guest);
  switch (message.kind) {
    case MessageKind::put:
      return put(guest, body);
    case MessageKind::get:
      return get(guest, body);
    case MessageKind::meet:
      return meet(guest, In::meeting);
    case MessageKind::missing:
      return send(guest, MessageKind::absent, Packed().add(missing_to(guest)));
    case MessageKind::active:
      return activate(guest);
    case MessageKind::idle:
      guest.is_active = false;
      return meet(guest, In::goodbye);
    case MessageKind::abort: {
      const std::uint32_t status = PackedReader(body).number();
      return end_job(status, fmt::format("{} ended the job with status {}", text_of(guest),
                                         static_cast<int>(status)));
    }
    default:
      return lose(guest);
  }
}

void MeetingPoint::welcome(Guest& guest, PackedReader body) {
  const std::uint32_t n_pes = body.number(), pe = body.number();
  guest.is_maker = body.number() == 1;
  guest.machine = body.text();
  guest.name = body.text();
  if (n_pes == 0 || n_pes > kMostPes || pe >= n_pes) return drop(guest);
  if (n_pes_ == 0) {
    n_pes_ = n_pes;
    pes_.resize(n_pes);
    raise_descriptor_limit(n_pes);
  }
  if (n_pes != n_pes_) {
    end_job(1, fmt::format("PE {} ({}) says that there are {} PEs, where others say {}", pe,
                           guest.name, n_pes, n_pes_));
    return send(guest, MessageKind::ended, end_);
  }
  if (Guest* other = pes_[pe]; other || n_arrived_ == n_pes_) {
    end_job(1, fmt::format("there is a second PE {}: {}{}", pe, guest.name,
                           other ? ", beside " + other->name : std::string()));
    return send(guest, MessageKind::ended, end_);
  }
  guest.pe = static_cast<int>(pe);
  guest.is_active = true;
  pes_[pe] = &guest;
  if (++n_arrived_ == n_pes_) welcome_all();
}

// Tells all PEs the machine of each, numbered by the first PE on it.
void MeetingPoint::welcome_all() {
  Packed body;
  std::map<std::string, std::uint32_t> machines;
  for (const Guest* guest : pes_)
    body.add(
        machines.try_emplace(guest->machine, static_cast<std::uint32_t>(guest->pe)).first->second);
  for (Guest* guest : pes_) send(*guest, MessageKind::welcome, body);
}

void MeetingPoint::put(const Guest& guest, PackedReader body) {
  const std::string key(body.text());
  values_[{guest.pe, key}] = body.text();
}

void MeetingPoint::get(Guest& guest, PackedReader body) {
  const int pe = static_cast<int>(body.number());
  const auto found = values_.find({pe, std::string(body.text())});
  if (found == values_.end()) return send(guest, MessageKind::value, Packed().add(0U));
  send(guest, MessageKind::value, Packed().add(1U).add(found->second));
}

void MeetingPoint::meet(Guest& guest, In what) {
  guest.in = what;
  for (const Guest* other : pes_)
    if (!other || other->in != what) return;
  for (Guest* other : pes_) other->in = In::nothing;
  for_each_maker_last(pes_, [&](Guest& other) {
    send(other, what == In::goodbye ? MessageKind::all_idle : MessageKind::met);
  });
}

// A PE uses the library again. That ends the job if another PE has ended meanwhile.
void MeetingPoint::activate(Guest& guest) {
  guest.is_active = true;
  if (!ended_pe_.empty()) end_job(1, ended_pe_ + kHasEnded);
}

std::string MeetingPoint::missing_to(const Guest& guest) const {
  constexpr int kMostNamed = 8;
  std::string text;
  int n = 0;
  for (std::size_t pe = 0; pe < pes_.size(); ++pe) {
    const Guest* other = pes_[pe];
    const bool is_here = other != nullptr && (n_arrived_ < n_pes_ || other->in == guest.in);
    if (is_here) continue;
    if (++n <= kMostNamed) text += fmt::format("{}{}", n > 1 ? ", " : "", pe);
  }
  if (n > kMostNamed) text += fmt::format(" and {} more", n - kMostNamed);
  return fmt::format("PE{} {} ha{} not come", n == 1 ? "" : "s", text, n == 1 ? "s" : "ve");
}

bool MeetingPoint::is_anyone_active() const {
  return std::any_of(guests_.begin(), guests_.end(), [](const Guest& guest) {
    return guest.fd >= 0 && guest.pe >= 0 && guest.is_active;
  });
}

void MeetingPoint::end_job(std::uint32_t status, const std::string& text) {
  if (is_over_) return;
  is_over_ = true;
  end_.add(status).add(text);
  std::vector<Guest*> pes;
  for (Guest& guest : guests_)
    if (guest.pe >= 0) pes.push_back(&guest);
  for_each_maker_last(pes, [&](Guest& guest) { send(guest, MessageKind::ended, end_); });
}

std::string MeetingPoint::text_of(const Guest& guest) const {
  return fmt::format("PE {} ({})", guest.pe, guest.name);
}

}  // namespace

std::variant<UniqueId, std::string> open_meeting_point(const std::string& interface) {
  UniqueId id;
  const std::vector<in6_addr> addresses = addresses_of_machine(interface, kMostAddresses);
  std::copy(addresses.begin(), addresses.end(), id.addresses);
  id.n_addresses = static_cast<std::uint16_t>(addresses.size());
  if (addresses.empty()) return "this machine has no network interface with an address";
  if (getrandom(id.token.data(), id.token.size(), 0) != static_cast<ssize_t>(id.token.size()))
    return "the kernel gives no random numbers: " + errno_text();
  const int listener = listen_at_any_address(&id.port);
  if (listener < 0) return "cannot open a port: " + errno_text();
  keep_from_children(listener);
  auto& point = *new MeetingPoint(listener, id.token);
  start_thread("that PEs meet at", [&point] { point.serve(); }).detach();
  return id;
}

}  // namespace meshmem
