// SPDX-License-Identifier: Apache-2.0
// Starts PEs by fork and exec, and collects those that have ended.
// Invariant: between fork and exec a child makes only calls that are safe after a fork in a program
// with threads.
#include "children.hpp"

#include <elf.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "base/machine/machine.hpp"

namespace meshmem {
namespace {

// oshrun needs these descriptors: two pipes for each PE, the PE's connection to the PMIx server,
// and kOwnFiles for itself, the server and the start of a PE. If the server had none left for a
// connection, the PE would wait for ever.
constexpr rlim_t kFilesOfPe = 3;
constexpr rlim_t kOwnFiles = 32;

// Called in the child. oshrun blocks signals and ignores SIGPIPE and SIGXFSZ. A shell may have
// started oshrun with SIGINT ignored.
void restore_signals() {
  for (int signal : {SIGPIPE, SIGXFSZ, SIGINT, SIGQUIT, SIGTERM}) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

std::string first_line(const std::string& path) {
  std::string line;
  if (!is_file(path)) return line;  // to open a named pipe would wait for its writer
  line.resize(256);                 // the kernel reads no more of it either
  std::ifstream file(path, std::ios::binary);
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<std::size_t>(file.gcount()));
  return line.substr(0, line.find('\n'));
}

bool is_machine_code(const std::string& line) { return line.starts_with(ELFMAG); }

std::string explain_exec_error(const std::string& program, int error) {
  std::error_code ignored;
  const std::string path = find_program(program);
  if (error == EACCES && std::filesystem::is_directory(path, ignored)) return std::strerror(EISDIR);
  if (error == ENOEXEC) return "it is not a program for this machine, or its file is damaged";
  const std::string line = first_line(path);
  if (error == ENOENT && is_machine_code(line))
    return "its loader does not exist (`readelf -l` names it)";
  if (error != ENOENT || !line.starts_with("#!")) return std::strerror(error);
  if (line.back() == '\r') return "its lines end in carriage returns";
  return fmt::format("its first line names an interpreter that is not there: {}", line);
}

}  // namespace

UniqueFd open_job_signals() {
  ::signal(SIGCHLD, SIG_DFL);  // some callers leave it ignored, which would hide how children end
  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGCHLD, SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT}) {
    sigaddset(&set, signal);
  }
  struct sigaction hang_up;
  ::sigaction(SIGHUP, nullptr, &hang_up);
  if (hang_up.sa_handler != SIG_IGN) sigaddset(&set, SIGHUP);  // under nohup it stays ignored
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  return UniqueFd(check(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), "make a signalfd"));
}

std::vector<char*> c_strings(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  std::istringstream folders(std::string(path != nullptr ? path : "/bin:/usr/bin") + ":");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = (folder.empty() ? "." : folder) + "/" + name;
    if (is_file(file) && ::access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

rlimit raise_file_limit(int pes) {
  rlimit limit{};
  check(::getrlimit(RLIMIT_NOFILE, &limit), "read the limit of open files");
  const rlim_t needed = kOwnFiles + kFilesOfPe * static_cast<rlim_t>(pes);
  const std::size_t allowed = raise_descriptor_limit(needed);
  if (allowed < needed) {
    give_up(
        "cannot start {} PEs: oshrun needs {} open files for that and may have {}; raise the limit "
        "(ulimit -Hn) or start fewer",
        pes, needed, allowed);
  }
  return limit;
}

ChildStarter::ChildStarter(const std::vector<std::string>& program, const rlimit& files)
    : program_(program), files_(files) {
  const std::string file = find_program(program[0]);
  if (is_machine_code(first_line(file))) machine_code_ = file;
  check(::fcntl(errors_.read_end.get(), F_SETFL, O_NONBLOCK), "set up a pipe");
}

pid_t ChildStarter::start(const std::vector<std::string>& environment,
                          const StandardDescriptors& descriptors) {
  std::vector<char*> arguments = c_strings(program_);
  std::vector<char*> variables = c_strings(environment);
  pid_t parent = ::getpid();
  pid_t child = check(::fork(), "start a process (see ulimit -u)");
  if (child == 0) become_program(arguments.data(), variables.data(), descriptors, parent);
  ::setpgid(child, child);  // here too, so that a signal sent at once finds the group
  return child;
}

void ChildStarter::become_program(char** arguments, char** environment,
                                  const StandardDescriptors& descriptors, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // oshrun ended before the line above
  ::setpgid(0, 0);
  restore_signals();
  ::setrlimit(RLIMIT_NOFILE, &files_);
  if (::dup2(descriptors.input, STDIN_FILENO) >= 0 &&
      ::dup2(descriptors.output, STDOUT_FILENO) >= 0 &&
      ::dup2(descriptors.error, STDERR_FILENO) >= 0) {
    if (machine_code_.empty()) {
      ::execvpe(arguments[0], arguments, environment);
    } else {
      ::execve(machine_code_.c_str(), arguments, environment);
    }
  }
  int error = errno;
  [[maybe_unused]] ssize_t written = ::write(errors_.write_end.get(), &error, sizeof(error));
  ::_exit(127);
}

std::optional<ExecError> ChildStarter::take_error() {
  int error = 0;
  if (::read(errors_.read_end.get(), &error, sizeof(error)) != sizeof(error)) return std::nullopt;
  return ExecError{error, explain_exec_error(program_[0], error)};
}

std::optional<ChildEnd> take_ended_child(const std::function<bool(pid_t)>& is_pe) {
  siginfo_t about{};
  int answer = 0;
  do {
    answer = ::waitid(P_ALL, 0, &about, WEXITED | WNOHANG | WNOWAIT);
  } while (answer != 0 && errno == EINTR);
  if (answer != 0 || about.si_pid == 0) return std::nullopt;
  pid_t pid = about.si_pid;
  if (is_pe(pid)) ::kill(-pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  bool exited = about.si_code == CLD_EXITED;
  return ChildEnd{pid, exited ? 0 : about.si_status, exited ? about.si_status : 0};
}

}  // namespace meshmem
