// SPDX-License-Identifier: Apache-2.0
//
// The PMI-1 client, for launchers without PMIx: mpiexec.hydra of MPICH and Intel MPI, and Slurm's
// srun --mpi=pmi2. PMI-1 has one barrier, of all PEs, and its values are short lines.
// Invariant: all PEs call the same barriers. Each wait has its caller's time limit. Made by
// connect_by_pmi(), once a process.
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "base/error.hpp"
#include "base/machine/sockets.hpp"
#include "base/machine/thread.hpp"
#include "base/status/own_status.hpp"
#include "bootstrap/launcher_client.hpp"
#include "bootstrap/pmi_text.hpp"

namespace meshmem {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongestLine = 1 << 16;

[[noreturn]] void end_without_launcher() {
  static std::atomic_flag is_said;
  if (!is_said.test_and_set()) print_line("the launcher is gone; this PE ends too");
  _exit(1);
}

int socket_of(std::string_view descriptor) {
  const int fd = as_number(descriptor).value_or(-1);
  struct stat status {};
  if (fd < 0 || fstat(fd, &status) != 0 || !S_ISSOCK(status.st_mode)) {
    fatal(
        "PMI_FD={} names no connection to a launcher: only the process that the launcher has "
        "started has it, not one that a PE has started",
        descriptor);
  }
  return fd;
}

// Whether both descriptors are of one file. The program may have closed one of them, and opened
// another file that has its number.
bool are_of_one_file(int one, int other) {
  struct stat a, b;
  return fstat(one, &a) == 0 && fstat(other, &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

Clock::time_point end_of_wait(double seconds) {
  if (seconds <= 0) return Clock::time_point::max();
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(std::min(seconds, 1e9)));
}

// Some launchers cut longer lines, even if they allow longer values.
constexpr std::size_t kLongestLineToSend = 1000;
constexpr std::size_t kShortestValue = 32;
constexpr std::size_t kLongestKey = 63;

// Ends the process if an answer has an rc other than 0. Some answers have none.
void check_rc(std::string_view line, std::string_view command) {
  const int rc = pmi_number(line, "rc").value_or(0);
  if (rc == 0) return;
  fatal("the launcher refuses PMI's {}: rc={} {}", command, rc,
        pmi_word(line, "msg").value_or("").substr(0, 100));
}

// The value of a variable that the launcher sets, from `least` to `most`.
int number_of_variable(const char* name, int least, int most) {
  const char* text = std::getenv(name);
  const std::string_view digits = text != nullptr ? text : "";
  const auto number = as_number(digits);
  if (!number || *number < least || *number > most)
    fatal("{}={} is not what a launcher sets: a number from {} to {}", name, digits, least, most);
  return *number;
}

// The connection is a socket that the PE has inherited (PMI_FD). The client sends one line and
// reads one line at a time. It reads no byte beyond the answer, since an MPI library of the same
// program may use the socket too. If the launcher does not answer, answers with another command or
// closes the socket, the process ends with a line, which shows no values.
class PmiClient final : public LauncherClient {
 public:
  PmiClient(Job& job, double timeout_seconds);

  void publish(std::string_view key, std::string_view value, Among who) override;
  void meet(const Meeting& meeting) override;
  std::string lookup(int pe, std::string_view key) override;
  void disconnect() override;
  void abort(int status, const char*) override;

 private:
  // Sends "cmd=<command><words>" and returns the answer, which must be "cmd=<answer> ...".
  std::string ask(std::string_view command, std::string_view words, std::string_view answer);
  std::string ask(std::string_view command, std::string_view words, std::string_view answer,
                  const AwaitedMeeting& awaited);
  void send_line(std::string_view line);
  std::string read_line(const AwaitedMeeting& awaited);
  void watch_launcher();

  std::string get(const std::string& key, const char* what, int pe);
  std::string key_of(int pe, std::string_view key, std::size_t part) const;
  std::vector<int> find_nodes();
  std::vector<int> nodes_by_hosts();

  const int inherited_fd_;   // the descriptor in PMI_FD
  const int fd_;             // a duplicate of it, which other code cannot close
  const int stop_;           // an eventfd that ends the thread
  std::mutex conversation_;  // held from a question to its answer
  std::thread watch_;        // ends the process if the launcher ends

  const Job& job_;
  const double timeout_seconds_;  // limit for an answer
  std::string store_;             // kvsname
  std::size_t value_letters_ = 0;
  bool has_neighbours_ = false;  // somewhere in the job two PEs share a node
};

PmiClient::PmiClient(Job& job, double timeout_seconds)
    : inherited_fd_(socket_of(std::getenv("PMI_FD"))),
      fd_(check(fcntl(inherited_fd_, F_DUPFD_CLOEXEC, 0), "keep the connection to the launcher")),
      stop_(check(eventfd(0, EFD_CLOEXEC), "watch the launcher")),
      job_(job),
      timeout_seconds_(timeout_seconds) {
  fcntl(inherited_fd_, F_SETFD, FD_CLOEXEC);  // a process that a PE starts is not a PE
  check_rc(ask("init", " pmi_version=1 pmi_subversion=1", "response_to_init"), "init");
  const std::string maxes = ask("get_maxes", "", "maxes");
  const std::string store = ask("get_my_kvsname", "", "my_kvsname");
  store_ = pmi_word(store, "kvsname").value_or("");
  const int value_bytes = pmi_number(maxes, "vallen_max").value_or(0);
  const std::size_t head = key_of(job.n_pes, "", 0).size() + kLongestKey;
  if (store_.empty() || head + kShortestValue > kLongestLineToSend ||
      value_bytes <= static_cast<int>(kShortestValue)) {
    fatal("the launcher's PMI is unusable: its store is '{}', with values of {} bytes",
          store_.substr(0, 100), value_bytes);
  }
  value_letters_ = std::min(static_cast<std::size_t>(value_bytes) - 1, kLongestLineToSend - head);
  watch_ = start_thread("that watches the launcher", [this] { watch_launcher(); });
  has_neighbours_ = fill_in_nodes(job, find_nodes());
}

std::string PmiClient::ask(std::string_view command, std::string_view words,
                           std::string_view answer) {
  return ask(command, words, answer,
             {.what = fmt::format("the launcher's answer to PMI's {}", command),
              .seconds = timeout_seconds_,
              .limit = kStartLimit});
}

std::string PmiClient::key_of(int pe, std::string_view key, std::size_t part) const {
  return fmt::format(" kvsname={} key={}-{}-{}", store_, key, pe, part);
}

void PmiClient::publish(std::string_view key, std::string_view value, Among) {
  const std::vector<std::string> values = as_pmi_values(value, value_letters_);
  for (std::size_t part = 0; part < values.size(); ++part) {
    const std::string words = fmt::format("{} value={}", key_of(job_.pe, key, part), values[part]);
    check_rc(ask("put", words, "put_result"), "put");
  }
}

void PmiClient::meet(const Meeting& meeting) {
  if (meeting.who == Among::node && !has_neighbours_) return;
  check_rc(ask("barrier_in", "", "barrier_out", awaited_of_all(meeting)), "barrier_in");
}

std::string PmiClient::get(const std::string& key, const char* what, int pe) {
  const std::string line = ask("get", key, "get_result");
  const auto value = pmi_word(line, "value");
  if (pmi_number(line, "rc").value_or(0) != 0 || !value)
    fatal("the launcher has no '{}' of PE {}", what, pe);
  return std::string(*value);
}

std::string PmiClient::lookup(int pe, std::string_view key) {
  const std::string name(key);
  std::string letters = get(key_of(pe, key, 0), name.c_str(), pe);
  const std::size_t dot = letters.find('.');
  const int count = as_number(std::string_view(letters).substr(0, dot)).value_or(0);
  letters.erase(0, dot == letters.npos ? dot : dot + 1);
  for (int part = 1; part < count; ++part)
    letters += get(key_of(pe, key, static_cast<std::size_t>(part)), name.c_str(), pe);
  std::optional<std::string> value = from_pmi_letters(letters);
  if (count < 1 || !value) fatal("the launcher has changed '{}' of PE {}", key, pe);
  return *std::move(value);
}

std::vector<int> PmiClient::find_nodes() {
  if (job_.n_pes == 1) return {0};
  const std::string line =
      ask("get", fmt::format(" kvsname={} key=PMI_process_mapping", store_), "get_result");
  const std::string_view text = pmi_word(line, "value").value_or("");
  if (auto nodes = nodes_of_mapping(text, job_.n_pes)) return *std::move(nodes);
  debug("the launcher does not say which PEs share a machine; they compare its names");
  return nodes_by_hosts();
}

// The node of each PE, where a node's number is the first PE on it.
std::vector<int> PmiClient::nodes_by_hosts() {
  publish("host", identity_of_host(), Among::job);
  meet({Among::job, true, "shmem_init", timeout_seconds_, kStartLimit});
  std::vector<std::string> hosts;
  std::vector<int> nodes;
  for (int pe = 0; pe < job_.n_pes; ++pe) {
    hosts.push_back(lookup(pe, "host"));
    const auto first = std::find(hosts.begin(), hosts.end(), hosts.back());
    nodes.push_back(static_cast<int>(first - hosts.begin()));
  }
  return nodes;
}

// --- The connection --------------------------------------------------------------------------

std::string PmiClient::ask(std::string_view command, std::string_view words,
                           std::string_view answer, const AwaitedMeeting& awaited) {
  const std::lock_guard lock(conversation_);
  send_line(fmt::format("cmd={}{}\n", command, words));
  std::string line = read_line(awaited);
  if (pmi_word(line, "cmd") != answer) {
    fatal("the launcher does not speak PMI-1: it answers cmd={} with cmd={}", command,
          pmi_word(line, "cmd").value_or("").substr(0, 40));
  }
  return line;
}

// Waits only 5 s for the launcher's answer, which does not matter.
void PmiClient::disconnect() {
  if (watch_.joinable()) {
    eventfd_write(stop_, 1);
    watch_.join();
  }
  const std::lock_guard lock(conversation_);
  constexpr std::string_view kLine = "cmd=finalize\n";
  if (send(fd_, kLine.data(), kLine.size(), MSG_NOSIGNAL) < 0) return;
  char answer[64];
  if (wait_for_events(fd_, POLLIN, end_of_wait(5))) [[maybe_unused]]
    const ssize_t n = recv(fd_, answer, sizeof answer, MSG_DONTWAIT);
}

// Takes no lock, since another thread may hold it while it waits for an answer. A short line is
// sent whole, so the two do not mix.
void PmiClient::abort(int status, const char*) {
  const std::string line = fmt::format("cmd=abort exitcode={}\n", status);
  [[maybe_unused]] const ssize_t n =
      send(fd_, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void PmiClient::send_line(std::string_view line) {
  while (!line.empty()) {
    const ssize_t sent = send(fd_, line.data(), line.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      line.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      pollfd wanted{.fd = fd_, .events = POLLOUT, .revents = 0};
      poll(&wanted, 1, -1);
    } else if (errno != EINTR) {
      end_without_launcher();
    }
  }
}

std::string PmiClient::read_line(const AwaitedMeeting& awaited) {
  const Clock::time_point end = end_of_wait(awaited.seconds);
  std::string line;
  ShownWait shown(monotonic_ns());
  shown.say("waits for " + awaited.what);
  while (line.size() < kLongestLine) {
    if (!wait_for_events(fd_, POLLIN, end)) {
      print_end_of_wait(awaited);
      _exit(1);
    }
    char bytes[4096];
    const ssize_t peeked = recv(fd_, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
    if (peeked < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (peeked <= 0) end_without_launcher();
    const std::string_view seen(bytes, static_cast<std::size_t>(peeked));
    const std::size_t newline = seen.find('\n');
    const std::size_t taken = newline == seen.npos ? seen.size() : newline + 1;
    if (recv(fd_, bytes, taken, 0) != static_cast<ssize_t>(taken)) end_without_launcher();
    line += seen.substr(0, std::min(newline, taken));
    if (newline != seen.npos) return line;
  }
  fatal("the launcher does not speak PMI-1: it sends more than {} bytes without an end of line",
        kLongestLine);
}

// Ends the process if the launcher closes the connection. But an MPI library of this program may
// share it, and close inherited_fd_ after its own goodbye. Then the launcher closes its end too,
// but is not gone.
void PmiClient::watch_launcher() {
  pollfd wanted[2] = {{.fd = fd_, .events = POLLRDHUP, .revents = 0},
                      {.fd = stop_, .events = POLLIN, .revents = 0}};
  while (poll(wanted, 2, -1) < 0) {
  }
  if (wanted[1].revents != 0) return;
  for (int i = 0; i < 5; ++i) {
    if (poll(&wanted[1], 1, 100) > 0) return;
    if (!are_of_one_file(inherited_fd_, fd_)) return;
  }
  end_without_launcher();
}

}  // namespace

LauncherClient& connect_by_pmi(Job& job, double timeout_seconds) {
  constexpr int kMostPes = 1 << 24;
  const int n_pes = number_of_variable("PMI_SIZE", 1, kMostPes);
  job.pe = number_of_variable("PMI_RANK", 0, n_pes - 1);
  job.n_pes = n_pes;
  set_identity(job.pe);
  // Never freed: threads may use it while the process exits.
  return *new PmiClient(job, timeout_seconds);
}

}  // namespace meshmem
