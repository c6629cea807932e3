// SPDX-License-Identifier: Apache-2.0
// oshrun: starts a program as the PEs of one OpenSHMEM job on this machine.
// Invariant: signals are blocked before the first thread or process is made; the guard and the
// scratch folder outlive the PMIx server's use of them.
#include <signal.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstdio>

#include "base/standard_output.hpp"
#include "children.hpp"
#include "environment.hpp"
#include "failure.hpp"
#include "guard.hpp"
#include "job.hpp"
#include "mailbox.hpp"
#include "options.hpp"
#include "scratch_folder.hpp"
#include "server.hpp"
#include "status.hpp"

namespace meshmem {
namespace {

// A pipe of ours must not become descriptor 0, 1 or 2 because a caller had closed these.
void open_standard_descriptors() {
  int fd = 0;
  while (fd >= 0 && fd <= STDERR_FILENO) fd = ::open("/dev/null", O_RDWR);
  if (fd > STDERR_FILENO) ::close(fd);
}

void refuse_foreign_environment() {
  if (::getauxval(AT_SECURE) == 0) return;
  throw Failure(kUsageError,
                "it is set-uid, set-gid or has file capabilities, and its environment may be "
                "another user's; take that bit or capability away");
}

void set_up_signals() {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a write beyond ulimit -f then fails, as on a full disk
  ::signal(SIGCHLD, SIG_DFL);  // ignored, as some callers leave it, it would hide the PEs' ends
  sigset_t set = job_signals();
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
}

void enter_working_folder(const std::string& folder) {
  if (!folder.empty() && ::chdir(folder.c_str()) != 0) {
    throw Failure(kUsageError,
                  fmt::format("cannot enter --wdir '{}': {}", folder, std::strerror(errno)));
  }
}

int run(int argc, char** argv) {
  refuse_foreign_environment();
  std::optional<Options> options = parse_options(argc, argv);
  if (!options) return 0;
  if (options->status_of) {
    show_status_of(*options->status_of);
    return 0;
  }
  enter_working_folder(options->working_folder);
  set_up_signals();
  const rlimit files_of_pes = raise_file_limit(options->pes);
  ScratchFolder scratch;
  Guard guard(options->pes, scratch.path());
  Environment base = make_base_environment(options->exports, options->pes);
  forget_outer_identity();
  Mailbox& mailbox = *new Mailbox;  // PMIx's threads may post until the process ends
  Server server({options->pes, options->fake_nodes, scratch.path()}, mailbox);
  std::vector<std::vector<std::string>> variables = server.register_pes();
  StatusFile where(options->pes, options->program[0], server.job_name());
  for (std::vector<std::string>& of_pe : variables) of_pe.push_back(where.variable());
  Job job(*options, files_of_pes, mailbox, guard, where);
  return job.run(base, variables);
}

}  // namespace
}  // namespace meshmem

int main(int argc, char** argv) {
  meshmem::open_standard_descriptors();
  int status = 0;
  try {
    status = meshmem::run(argc, argv);
  } catch (const meshmem::Failure& failure) {
    std::fprintf(stderr, "oshrun: %s\n", failure.what());
    status = failure.status();
  }
  status = meshmem::close_standard_output("oshrun", status);
  std::fflush(nullptr);
  ::_exit(status);  // not through PMIx's exit handlers: its thread may wait for ever
}
