// SPDX-License-Identifier: Apache-2.0
// Starts the processes of the PEs and names how they ended.
// Invariant: a started PE is the leader of a process group of its own, and holds no descriptor of
// oshrun's but its three standard ones. The kernel kills it when oshrun ends. Used by
// running_job.cpp, on the main thread only (the kernel ties PEs to the thread that forks).
#ifndef MESHMEM_OSHRUN_CHILDREN_HPP_
#define MESHMEM_OSHRUN_CHILDREN_HPP_

#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "unique_fd.hpp"

namespace meshmem {

struct ChildPlan {
  const std::vector<std::string>& program;
  const std::string& machine_code;  // its file, where a shell must not read it; else empty
  const std::vector<std::string>& environment;  // NAME=VALUE
  int input_fd;
  int output_fd;
  int error_fd;
};

// Lets oshrun have as many descriptors as it may, or throws Failure if these are too few for `pes`
// PEs. Returns the limit that oshrun was started with.
rlimit raise_file_limit(int pes);

class ChildStarter {
 public:
  explicit ChildStarter(const rlimit& files);  // how many descriptors a PE may have

  pid_t start(const ChildPlan& plan);

  // Readable when a child could not become the program; take_error() then says why, as an errno.
  int error_fd() const { return errors_.read_end.get(); }
  std::optional<int> take_error();

 private:
  Pipe errors_;
  rlimit files_;
};

struct ChildEnd {
  pid_t pid;
  int signal;  // 0: it exited
  int status;  // of the exit
};

// The next child that has ended, if any. Its process group is killed before its number is given
// back to the system, so that no stranger's group can be meant.
std::optional<ChildEnd> take_ended_child();

}  // namespace meshmem

#endif  // MESHMEM_OSHRUN_CHILDREN_HPP_
