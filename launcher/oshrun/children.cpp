// SPDX-License-Identifier: Apache-2.0
// fork and exec for PEs.
// Invariant: between fork and exec only calls that are safe after fork in a program with threads.
// Called by running_job.cpp.
#include "children.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <array>

namespace meshmem {
namespace {

// Descriptors that oshrun holds: two pipes of each PE and the connection that PMIx's server accepts
// from it; and what it, the server and the start of a PE take besides. Found out late, a lack would
// be a PE that waits for the server for ever.
constexpr rlim_t kFilesOfPe = 3;
constexpr rlim_t kOwnFiles = 32;

std::vector<char*> c_strings(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// oshrun blocks signals and ignores SIGPIPE and SIGXFSZ; a shell may have started it with SIGINT
// ignored.
void restore_signals() {
  for (int signal : {SIGPIPE, SIGXFSZ, SIGINT, SIGQUIT, SIGTERM}) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void become_program(const ChildPlan& plan, char** arguments, char** environment,
                                 pid_t parent, int errors_fd, const rlimit& files) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it ended before the line above
  ::setpgid(0, 0);
  restore_signals();
  ::setrlimit(RLIMIT_NOFILE, &files);
  if (::dup2(plan.input_fd, STDIN_FILENO) >= 0 && ::dup2(plan.output_fd, STDOUT_FILENO) >= 0 &&
      ::dup2(plan.error_fd, STDERR_FILENO) >= 0) {
    if (plan.machine_code.empty()) {
      ::execvpe(arguments[0], arguments, environment);
    } else {
      ::execve(plan.machine_code.c_str(), arguments, environment);
    }
  }
  int error = errno;
  [[maybe_unused]] ssize_t written = ::write(errors_fd, &error, sizeof(error));
  ::_exit(127);
}

}  // namespace

rlimit raise_file_limit(int pes) {
  rlimit limit{};
  check(::getrlimit(RLIMIT_NOFILE, &limit), "read the limit of open files");
  const rlim_t needed = kOwnFiles + kFilesOfPe * static_cast<rlim_t>(pes);
  if (limit.rlim_max < needed) {
    throw Failure(kSystemError,
                  fmt::format("cannot start {} PEs: oshrun needs {} open files for that and may "
                              "have {}; raise the limit (ulimit -Hn) or start fewer",
                              pes, needed, limit.rlim_max));
  }
  rlimit raised = limit;
  raised.rlim_cur = raised.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &raised);
  return limit;
}

ChildStarter::ChildStarter(const rlimit& files) : errors_(make_pipe()), files_(files) {
  check(::fcntl(errors_.read_end.get(), F_SETFL, O_NONBLOCK), "set up a pipe");
}

pid_t ChildStarter::start(const ChildPlan& plan) {
  std::vector<char*> arguments = c_strings(plan.program);
  std::vector<char*> environment = c_strings(plan.environment);
  pid_t parent = ::getpid();
  pid_t child = check(::fork(), "start a process (see ulimit -u)");
  if (child == 0) {
    become_program(plan, arguments.data(), environment.data(), parent, errors_.write_end.get(),
                   files_);
  }
  ::setpgid(child, child);  // here too, so that a signal sent at once finds the group
  return child;
}

std::optional<int> ChildStarter::take_error() {
  int error = 0;
  if (::read(errors_.read_end.get(), &error, sizeof(error)) != sizeof(error)) return std::nullopt;
  return error;
}

std::optional<ChildEnd> take_ended_child() {
  siginfo_t about{};
  int answer = 0;
  do {
    answer = ::waitid(P_ALL, 0, &about, WEXITED | WNOHANG | WNOWAIT);
  } while (answer != 0 && errno == EINTR);
  if (answer != 0 || about.si_pid == 0) return std::nullopt;
  pid_t pid = about.si_pid;
  ::kill(-pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  bool exited = about.si_code == CLD_EXITED;
  return ChildEnd{pid, exited ? 0 : about.si_status, exited ? about.si_status : 0};
}

}  // namespace meshmem
