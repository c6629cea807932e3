// SPDX-License-Identifier: Apache-2.0
// A job that another launcher runs: waits for the launcher, and listens to PE 0.
// Invariant: oshrun reads nothing from a connection that does not begin with the secret, and keeps
// a few such connections at most. Signals of the terminal reach the launcher without oshrun. If
// oshrun ends a launcher, it ends the launcher's own processes too: an ssh to a lost machine would
// keep the output open.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>

#include "base/machine/interfaces.hpp"
#include "base/machine/socket_patience.hpp"
#include "base/machine/sockets.hpp"
#include "base/status/job_record.hpp"
#include "children.hpp"
#include "environment.hpp"
#include "hosts.hpp"

namespace meshmem {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// How long a launcher may take to end after PE 0. Two seconds are usual, more on a busy machine.
constexpr auto kLauncherPatience = 10s;
constexpr auto kGraceOfLauncher = 3s;   // from SIGTERM to SIGKILL
constexpr auto kGraceOfLeftovers = 1s;  // to clean up, before SIGKILL
constexpr auto kLeftoversEnd = 3s;      // when oshrun stops waiting for them
constexpr auto kLastNoteDelay = 2s;     // for PE 0's last bytes, once the launcher has ended
constexpr std::size_t kMostConnections = 64;
constexpr int kMostSilence = 10;           // seconds; PE 0's machine counts as lost after that
constexpr std::size_t kMostAddresses = 8;  // PE 0 may try each for 2 s
constexpr int kPollMilliseconds = 500;

// Learns from PE 0 that the job has begun, and that it has ended well
// (src/base/status/job_record.hpp).
class JobRecord {
 public:
  JobRecord();  // sets the variable for the PEs; without a port there is no record
  void add_to(std::vector<pollfd>& fds) const;
  void take();
  // True while PE 0 may still write.
  bool is_open() const {
    return std::any_of(connections_.begin(), connections_.end(),
                       [this](const auto& one) { return one.secret == secret_; });
  }
  bool is_failure() const { return has_begun_ && !has_ended_well_; }
  // True if PE 0 or its machine was lost while the job ran.
  bool is_lost() const { return is_lost_ && is_failure(); }

 private:
  struct Connection {
    UniqueFd fd;
    std::string secret;  // as far as it has been sent
  };
  bool read(Connection& connection);
  void drop_oldest_stranger();

  UniqueFd listener_;
  const std::string secret_ = make_secret();
  std::vector<Connection> connections_;
  bool has_begun_ = false, has_ended_well_ = false, is_lost_ = false;
};

JobRecord::JobRecord() {
  ::unsetenv(kJobRecordVariable);  // of an outer oshrun
  std::uint16_t port = 0;
  UniqueFd listener(listen_at_any_address(&port));
  std::string addresses;
  for (const in6_addr& address : addresses_of_machine("", kMostAddresses))
    (addresses += "/") += text_of_address(address);
  if (!listener.is_open() || addresses.empty()) return;
  be_patient(listener.get(), kMostSilence);  // its connections inherit that
  listener_ = std::move(listener);
  ::setenv(kJobRecordVariable, fmt::format("{}/{}{}", secret_, port, addresses).c_str(), 1);
}

void JobRecord::add_to(std::vector<pollfd>& fds) const {
  fds.push_back({listener_.get(), POLLIN, 0});
  for (const Connection& connection : connections_) fds.push_back({connection.fd.get(), POLLIN, 0});
}

void JobRecord::take() {
  while (listener_.is_open()) {
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.is_open()) break;
    if (connections_.size() == kMostConnections) drop_oldest_stranger();
    connections_.push_back({std::move(fd), ""});
  }
  std::erase_if(connections_, [this](Connection& connection) { return !read(connection); });
}

void JobRecord::drop_oldest_stranger() {
  const auto stranger = std::find_if(connections_.begin(), connections_.end(),
                                     [this](const auto& one) { return one.secret != secret_; });
  if (stranger != connections_.end()) connections_.erase(stranger);
}

// Returns false if the connection has ended, or sent a wrong secret.
bool JobRecord::read(Connection& connection) {
  for (;;) {
    char bytes[64];
    const ssize_t n = ::recv(connection.fd.get(), bytes, sizeof bytes, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (n <= 0) {
      is_lost_ |= connection.secret == secret_;
      return false;
    }
    for (ssize_t i = 0; i < n; ++i) {
      if (connection.secret != secret_) {
        connection.secret += bytes[i];
        if (!secret_.starts_with(connection.secret)) return false;
        continue;
      }
      has_begun_ |= bytes[i] == static_cast<char>(JobNote::begun);
      has_ended_well_ = bytes[i] == static_cast<char>(JobNote::ended_well);
    }
  }
}

[[noreturn]] void become(const std::vector<std::string>& words, pid_t parent) {
  std::vector<char*> arguments = c_strings(words);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (::getppid() == parent) ::execvp(arguments[0], arguments.data());
  std::fprintf(stderr, "oshrun: cannot run %s: %s\n", arguments[0], std::strerror(errno));
  ::_exit(kSystemError);
}

std::vector<pid_t> children_of_oshrun() {
  std::ifstream file(fmt::format("/proc/self/task/{}/children", ::getpid()));
  return {std::istream_iterator<pid_t>(file), std::istream_iterator<pid_t>()};
}

class RunningLauncher {
 public:
  RunningLauncher(const std::vector<std::string>& words, JobRecord& record)
      : name_(words[0]), record_(record) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    const pid_t self = ::getpid();
    pid_ = check(::fork(), "start a process (see ulimit -u)");
    if (pid_ == 0) become(words, self);
  }

  int wait() {
    while (!has_ended()) {
      std::vector<pollfd> fds = {{signals_.get(), POLLIN, 0}};
      record_.add_to(fds);
      ::poll(fds.data(), fds.size(), kPollMilliseconds);
      pass_on_signals();
      record_.take();
      end_if_it_hangs();
      reap_leftovers();
    }
    await_end_of_record();
    if (is_being_ended_) end_leftovers();
    return status();
  }

 private:
  // The last bytes of PE 0 may come after the launcher has ended.
  void await_end_of_record() {
    const Clock::time_point late = Clock::now() + kLastNoteDelay;
    for (record_.take(); record_.is_open() && Clock::now() < late; record_.take()) {
      std::vector<pollfd> fds;
      record_.add_to(fds);
      ::poll(fds.data(), fds.size(), kPollMilliseconds / 10);
    }
  }
  // Descendants of the launcher whose parents have ended are oshrun's children. Reaps those that
  // have ended, and returns the rest. Children that oshrun had before its exec are left alone.
  std::vector<pid_t> reap_leftovers() const {
    std::vector<pid_t> left = children_of_oshrun();
    std::erase_if(left, [this](pid_t child) {
      return child == pid_ ||
             std::find(foreign_.begin(), foreign_.end(), child) != foreign_.end() ||
             ::waitpid(child, nullptr, WNOHANG) == child;
    });
    return left;
  }

  void end_leftovers() const {
    const auto begin = Clock::now();
    for (auto left = reap_leftovers(); !left.empty() && Clock::now() < begin + kLeftoversEnd;
         left = reap_leftovers()) {
      if (Clock::now() > begin + kGraceOfLeftovers)
        for (const pid_t child : left) ::kill(child, SIGKILL);
      std::this_thread::sleep_for(10ms);
    }
  }

  bool has_ended() { return ::waitpid(pid_, &end_, WNOHANG) == pid_; }

  // A signal that a process sent to the whole group reaches the launcher twice: oshrun cannot tell
  // it from one for oshrun alone.
  void pass_on_signals() {
    signalfd_siginfo info;
    while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
      const int signal = static_cast<int>(info.ssi_signo);
      if (signal != SIGCHLD && info.ssi_code <= 0) ::kill(pid_, signal);  // by a process
      if (signal == SIGTSTP) ::raise(SIGSTOP);
      if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP) was_ended_by_user_ = true;
    }
  }

  void end_if_it_hangs() {
    const auto now = Clock::now();
    if (!record_.is_lost()) return;
    if (!deadline_) deadline_ = now + kLauncherPatience;
    if (now < *deadline_) return;
    if (!is_being_ended_) {
      std::fprintf(stderr,
                   "oshrun: PE 0 has ended or its machine is lost, and %s does not end; "
                   "ending it\n",
                   name_.c_str());
    }
    ::kill(pid_, is_being_ended_ ? SIGKILL : SIGTERM);
    is_being_ended_ = true;
    deadline_ = now + kGraceOfLauncher;
  }

  int status() const {
    if (WIFSIGNALED(end_)) return 128 + WTERMSIG(end_);
    if (WEXITSTATUS(end_) != 0 || !record_.is_failure() || was_ended_by_user_)
      return WEXITSTATUS(end_);
    std::fprintf(stderr,
                 "oshrun: the job has ended before its PEs came to shmem_finalize, though %s says "
                 "that all is well: a PE or a machine is lost\n",
                 name_.c_str());
    return kSystemError;
  }

  const std::string name_;
  JobRecord& record_;
  const UniqueFd signals_ = open_job_signals();
  const std::vector<pid_t> foreign_ = children_of_oshrun();
  pid_t pid_;
  int end_ = 0;
  bool is_being_ended_ = false;
  bool was_ended_by_user_ = false;
  std::optional<Clock::time_point> deadline_;  // of the launcher, once PE 0 is lost
};

}  // namespace

int run_launcher(const std::function<std::vector<std::string>()>& make_words) {
  JobRecord record;
  return RunningLauncher(make_words(), record).wait();
}

}  // namespace meshmem
