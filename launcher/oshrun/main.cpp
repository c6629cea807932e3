// SPDX-License-Identifier: Apache-2.0
// oshrun: starts a program as the PEs of one OpenSHMEM job on this machine, or hands it to the
// launcher that starts it on several.
// Invariant: signals are blocked before the first thread or process is made; the guard and the
// scratch folder outlive the PMIx server's use of them.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <future>
#include <new>
#include <string_view>
#include <system_error>

#include "base/machine/standard_descriptors.hpp"
#include "base/settings/foreign_variables.hpp"
#include "children.hpp"
#include "environment.hpp"
#include "failure.hpp"
#include "hosts.hpp"
#include "leftovers.hpp"
#include "options.hpp"
#include "running_job.hpp"
#include "server.hpp"
#include "status.hpp"

namespace meshmem {
namespace {

// oshrun's own stderr, also while PMIx's output is held back.
int crash_fd = STDERR_FILENO;

// PMIx's server runs inside this process, and may crash where a system call fails.
void report_crash(int signal) {
  constexpr std::string_view kLine =
      "oshrun: this process crashed, most likely because the PMIx server lacks descriptors, memory "
      "or a network; ending the job\n";
  [[maybe_unused]] ssize_t written = ::write(crash_fd, kLine.data(), kLine.size());
  ::raise(signal);  // the handler is gone by SA_RESETHAND
}

// Called after the guard is made, which must not inherit this copy of the user's descriptor.
void set_up_crash_report() {
  const int copy = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (copy >= 0) crash_fd = copy;
  struct sigaction action {};
  action.sa_handler = report_crash;
  action.sa_flags = SA_RESETHAND | SA_NODEFER;
  for (int signal : {SIGABRT, SIGSEGV, SIGBUS}) ::sigaction(signal, &action, nullptr);
}

void enter_working_folder(const std::string& folder) {
  if (!folder.empty() && ::chdir(folder.c_str()) != 0)
    refuse("cannot enter --wdir '{}': {}", folder, std::strerror(errno));
}

// PMIx puts arrays of 100 KB on its threads' stacks, so their size must not depend on `ulimit -s`.
// Holds for all threads that are started later, also by PMIx. PEs keep the user's limit.
void give_threads_roomy_stacks() {
  constexpr std::size_t kEnough = 1 << 20;
  pthread_attr_t attributes;
  if (::pthread_getattr_default_np(&attributes) != 0) return;
  std::size_t bytes = 0;
  ::pthread_attr_getstacksize(&attributes, &bytes);
  ::pthread_attr_setstacksize(&attributes, std::max(bytes, kEnough));
  ::pthread_setattr_default_np(&attributes);
  ::pthread_attr_destroy(&attributes);
}

ServedJob start_server_on_roomy_stack(const ServerPlan& plan, EventPipe& events) {
  give_threads_roomy_stacks();
  std::future<ServedJob> job;
  try {
    job = std::async(std::launch::async, start_server, plan, std::ref(events));
  } catch (const std::system_error& refusal) {
    give_up("cannot start a thread (see ulimit -u): {}", refusal.code().message());
  }
  return job.get();
}

int run(int argc, char** argv) {
  if (const auto why = reason_to_refuse_environment()) refuse("{}", *why);
  std::optional<Options> options = parse_options(argc, argv);
  if (!options) return 0;
  if (options->status_of) {
    show_status_of(*options->status_of);
    return 0;
  }
  if (options->is_for_several_machines()) return hand_over(*options);
  enter_working_folder(options->working_folder);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a write beyond ulimit -f then fails, as on a full disk
  UniqueFd signals = open_job_signals();
  const rlimit files_of_pes = raise_file_limit(options->pes);
  ScratchFolder scratch;
  Guard guard(options->pes, scratch.path());
  set_up_crash_report();
  Environment base = make_base_environment(options->exports, options->pes, scratch.path());
  forget_outer_identity();
  EventPipe& events = *new EventPipe;  // PMIx's threads may post until the process ends
  ServedJob served =
      start_server_on_roomy_stack({options->pes, options->fake_nodes, scratch.path()}, events);
  StatusFile status(options->pes, options->program[0], served.name);
  for (std::vector<std::string>& of_pe : served.variables) of_pe.push_back(status.variable());
  RunningJob job(*options, files_of_pes, std::move(signals), events, guard, status);
  return job.run(base, served.variables);
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
  } catch (const std::bad_alloc&) {
    std::fputs("oshrun: there is no memory left\n", stderr);
    status = meshmem::kSystemError;
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "oshrun: %s\n", exception.what());
    status = meshmem::kSystemError;
  }
  status = meshmem::close_standard_output("oshrun", status);
  std::fflush(nullptr);
  ::_exit(status);  // not through PMIx's exit handlers: its thread may wait for ever
}
