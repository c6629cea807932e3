// SPDX-License-Identifier: Apache-2.0
// Starts the processes of the PEs and names how they ended.
// Invariant: a started PE is the leader of a process group of its own, and holds no descriptor of
// oshrun's but its three standard ones. The kernel kills it when oshrun ends. Called on the main
// thread only (the kernel ties PEs to the thread that forks).
#ifndef MESHMEM_OSHRUN_CHILDREN_HPP_
#define MESHMEM_OSHRUN_CHILDREN_HPP_

#include <sys/resource.h>
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pipe.hpp"

namespace meshmem {

// Blocks the signals that end, stop or ask a job, and SIGCHLD. From here on they are read from the
// descriptor that this returns, as signalfd_siginfo. Called before any thread exists.
UniqueFd open_job_signals();

std::vector<char*> c_strings(const std::vector<std::string>& strings);  // for exec

// The file of a program, or "" if there is none. A name without a slash is looked up in PATH, as by
// execvpe.
std::string find_program(const std::string& name);

// Lets oshrun have enough descriptors for `pes` PEs, or throws Failure if it may not. Returns the
// limit that oshrun was started with.
rlimit raise_file_limit(int pes);

struct StandardDescriptors {
  int input, output, error;
};

struct ExecError {
  int number;
  std::string text;  // errno's own, unless that would mislead
};

class ChildStarter {
 public:
  // `files`: how many descriptors a PE may have.
  ChildStarter(const std::vector<std::string>& program, const rlimit& files);

  // `environment` is NAME=VALUE strings.
  pid_t start(const std::vector<std::string>& environment, const StandardDescriptors& descriptors);

  // Readable when a child could not become the program; take_error() then says why.
  int error_fd() const { return errors_.read_end.get(); }
  std::optional<ExecError> take_error();

 private:
  [[noreturn]] void become_program(char** arguments, char** environment,
                                   const StandardDescriptors& descriptors, pid_t parent);

  std::vector<std::string> program_;
  // The program's file if that is machine code, else empty. Such a file is never given to a shell:
  // it would read machine code of another processor as a script, and fail with a misleading error.
  std::string machine_code_;
  Pipe errors_ = make_pipe();
  rlimit files_;
};

struct ChildEnd {
  pid_t pid;
  int signal;  // 0: it exited
  int status;  // of the exit
};

// Returns the next child that has ended, if any. Kills the process group of a PE before it reaps
// the PE, so the group's number is not a stranger's yet.
std::optional<ChildEnd> take_ended_child(const std::function<bool(pid_t)>& is_pe);

}  // namespace meshmem

#endif  // MESHMEM_OSHRUN_CHILDREN_HPP_
