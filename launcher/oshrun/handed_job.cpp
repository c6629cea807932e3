// SPDX-License-Identifier: Apache-2.0
// Waits for the launcher, and listens to PE 0.
// Invariant: who does not know the secret is not listened to, and a few such connections are kept
// at most. Signals of the terminal reach the launcher without oshrun. If oshrun ends a launcher, it
// ends the launcher's own processes too: an ssh to a lost machine would keep the output open.
#include "handed_job.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/status/job_record.hpp"
#include "children.hpp"
#include "secret.hpp"

namespace meshmem {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// After PE 0's end. Launchers take two seconds, on a busy machine more.
constexpr auto kLaunchersTurn = 10s;
constexpr auto kLauncherEnds = 3s;  // from SIGTERM to SIGKILL
constexpr auto kLeftoversEnd = 2s;
constexpr std::size_t kMostConnections = 64;
constexpr int kLook = 500;  // milliseconds

// Connections inherit what finds out that a machine is gone: 10 s of silence.
void watch_over_connections(int fd) {
  const auto set = [fd](int level, int option, int value) {
    ::setsockopt(fd, level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(IPPROTO_TCP, TCP_KEEPCNT, 5);
}

// The port, or 0.
int listen_at(int fd) {
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_addr = in6addr_any;
  socklen_t bytes = sizeof any;
  auto* const address = reinterpret_cast<sockaddr*>(&any);
  if (::bind(fd, address, bytes) != 0 || ::listen(fd, 16) != 0) return 0;
  return ::getsockname(fd, address, &bytes) == 0 ? ntohs(any.sin6_port) : 0;
}

[[noreturn]] void become(const std::vector<std::string>& words, pid_t parent) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (::getppid() == parent) ::execvp(arguments[0], arguments.data());
  std::fprintf(stderr, "oshrun: cannot run %s: %s\n", arguments[0], std::strerror(errno));
  ::_exit(kSystemError);
}

class RunningLauncher {
 public:
  RunningLauncher(const std::vector<std::string>& words, JobRecord& record)
      : name_(words[0]), record_(record) {
    sigset_t set;
    sigemptyset(&set);
    for (int signal : {SIGCHLD, SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP})
      sigaddset(&set, signal);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    ::signal(SIGCHLD, SIG_DFL);
    signals_ = UniqueFd(check(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), "make a signalfd"));
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    const pid_t self = ::getpid();
    pid_ = check(::fork(), "start a process (see ulimit -u)");
    if (pid_ == 0) become(words, self);
  }

  int wait() {
    while (!has_ended()) {
      std::vector<pollfd> fds = {{signals_.get(), POLLIN, 0}};
      record_.add_to(fds);
      ::poll(fds.data(), fds.size(), kLook);
      pass_on_signals();
      record_.take();
      end_if_it_hangs();
    }
    record_.take();
    if (is_told_) end_what_is_left();
    return status();
  }

 private:
  // The launcher's own processes are oshrun's children now, and theirs will be.
  static void end_what_is_left() {
    const auto limit = Clock::now() + kLeftoversEnd;
    while (::waitpid(-1, nullptr, WNOHANG) >= 0 && Clock::now() < limit) {
      std::ifstream children("/proc/self/task/" + std::to_string(::getpid()) + "/children");
      for (pid_t child; children >> child;) ::kill(child, SIGKILL);
      std::this_thread::sleep_for(10ms);
    }
  }

  bool has_ended() { return ::waitpid(pid_, &end_, WNOHANG) == pid_; }

  void pass_on_signals() {
    signalfd_siginfo info;
    while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
      const int signal = static_cast<int>(info.ssi_signo);
      if (signal != SIGCHLD && info.ssi_code <= 0) ::kill(pid_, signal);  // by a process
      if (signal == SIGTSTP) ::raise(SIGSTOP);
      if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP) is_wanted_ = true;
    }
  }

  void end_if_it_hangs() {
    const auto now = Clock::now();
    if (!record_.is_lost()) return;
    if (!ends_at_) ends_at_ = now + kLaunchersTurn;
    if (now < *ends_at_) return;
    if (!is_told_) {
      std::fprintf(stderr,
                   "oshrun: PE 0 has ended or its machine is lost, and %s does not end; "
                   "ending it\n",
                   name_.c_str());
    }
    ::kill(pid_, is_told_ ? SIGKILL : SIGTERM);
    is_told_ = true;
    ends_at_ = now + kLauncherEnds;
  }

  int status() const {
    if (WIFSIGNALED(end_)) return 128 + WTERMSIG(end_);
    if (WEXITSTATUS(end_) != 0 || !record_.is_failure() || is_wanted_) return WEXITSTATUS(end_);
    std::fprintf(stderr,
                 "oshrun: the job has ended before its PEs came to shmem_finalize, though %s says "
                 "that all is well: a PE or a machine is lost\n",
                 name_.c_str());
    return kSystemError;
  }

  const std::string name_;
  JobRecord& record_;
  UniqueFd signals_;
  pid_t pid_;
  int end_ = 0;
  bool is_told_ = false;
  bool is_wanted_ = false;  // the user has ended the job
  std::optional<Clock::time_point> ends_at_;
};

}  // namespace

JobRecord::JobRecord() : secret_(make_secret()) {
  ::unsetenv(kJobRecordVariable);  // of an outer oshrun
  UniqueFd fd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.is_open() || secret_.empty()) return;
  const int off = 0;
  ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  watch_over_connections(fd.get());
  const int port = listen_at(fd.get());
  const std::string addresses = addresses_for_job_record();
  if (port == 0 || addresses.empty()) return;
  port_ = std::move(fd);
  ::setenv(kJobRecordVariable, fmt::format("{}/{}/{}", secret_, port, addresses).c_str(), 1);
}

void JobRecord::add_to(std::vector<pollfd>& fds) const {
  fds.push_back({port_.get(), POLLIN, 0});
  for (const Connection& connection : connections_) fds.push_back({connection.fd.get(), POLLIN, 0});
}

void JobRecord::take() {
  accept_all();
  std::erase_if(connections_, [this](Connection& connection) { return !read(connection); });
}

void JobRecord::accept_all() {
  while (port_.is_open() && connections_.size() < kMostConnections) {
    UniqueFd fd(::accept4(port_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.is_open()) return;
    connections_.push_back({std::move(fd), ""});
  }
}

// False: it is over.
bool JobRecord::read(Connection& connection) {
  for (;;) {
    char bytes[64];
    const ssize_t n = ::recv(connection.fd.get(), bytes, sizeof bytes, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    const bool is_pe = connection.said == secret_;
    if (n <= 0) {
      is_lost_ |= is_pe;
      return false;
    }
    for (ssize_t i = 0; i < n; ++i) {
      if (connection.said != secret_) {
        connection.said += bytes[i];
        if (!secret_.starts_with(connection.said)) return false;
        continue;
      }
      has_begun_ |= bytes[i] == static_cast<char>(JobNote::begun);
      has_ended_well_ = bytes[i] == static_cast<char>(JobNote::ended_well);
    }
  }
}

int run_launcher(const std::vector<std::string>& words, JobRecord& record) {
  return RunningLauncher(words, record).wait();
}

}  // namespace meshmem
