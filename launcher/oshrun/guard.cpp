// SPDX-License-Identifier: Apache-2.0
// The guard process: waits for the end of oshrun and cleans up if that end was sudden. PEs are also
// tied to oshrun by PR_SET_PDEATHSIG; the guard is for their children and for the scratch folder.
// Invariant: it holds no descriptor of the user's, so nobody who reads oshrun's output waits for
// it. Used by main().
#include "guard.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <filesystem>

namespace meshmem {

Guard::Guard(int pes, const std::string& scratch_path) : pes_(pes), line_(make_pipe()) {
  std::size_t bytes = sizeof(*groups_) * static_cast<std::size_t>(pes);
  void* shared = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw Failure(kSystemError, "cannot get memory for the guard process");
  groups_ = static_cast<std::atomic<pid_t>*>(shared);
  process_ = check(::fork(), "start the guard process");
  if (process_ == 0) keep_watch(scratch_path);
  line_.read_end.reset();
}

Guard::~Guard() {
  for (int pe = 0; pe < pes_; ++pe) forget(pe);
  line_.write_end.reset();
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Guard::keep_watch(const std::string& scratch_path) {
  ::prctl(PR_SET_NAME, "oshrun-guard");
  ::setsid();  // out of reach of signals to oshrun's own group
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(fd);
  line_.write_end.reset();
  char byte;
  while (::read(line_.read_end.get(), &byte, 1) < 0 && errno == EINTR) {
  }
  for (int pe = 0; pe < pes_; ++pe) {
    if (pid_t group = groups_[pe].load(std::memory_order_relaxed); group > 0) {
      ::kill(-group, SIGKILL);
    }
  }
  std::error_code error;
  std::filesystem::remove_all(scratch_path, error);
  ::_exit(0);
}

}  // namespace meshmem
