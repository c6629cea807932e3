// SPDX-License-Identifier: Apache-2.0
//
// The one place that writes to standard error and that ends a job on an error.
// Invariant: a line is one write(2), so that lines of different PEs do not mix.
#include "base/error.hpp"

#include <unistd.h>

#include <atomic>
#include <cstring>

namespace meshmem {
namespace {

std::atomic<int> this_pe{-1};
std::atomic<AbortJob> abort_job_of_launcher{nullptr};
std::atomic<bool> debug_is_on{false};

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace

void set_identity(int pe) { this_pe = pe; }
void set_abort_job(AbortJob abort_job) { abort_job_of_launcher = abort_job; }
void enable_debug(bool enabled) { debug_is_on = enabled; }
bool debug_enabled() { return debug_is_on; }

void print_line(std::string_view message) {
  const int pe = this_pe;
  const std::string who = pe >= 0
                              ? fmt::format("PE {} (host {}, pid {})", pe, host_name(), getpid())
                              : fmt::format("host {}, pid {}", host_name(), getpid());
  const std::string line = fmt::format("meshmem: {}: {}\n", who, message);
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t written = write(STDERR_FILENO, line.data() + done, line.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // nowhere left to complain to
    done += static_cast<std::size_t>(written);
  }
}

void end_job_on_error() {
  if (const AbortJob abort_job = abort_job_of_launcher) abort_job(1);
  _exit(1);
}

void fatal_message(std::string_view message) {
  print_line(message);
  end_job_on_error();
}

std::string errno_text(int error) {
  char text[128];
  return strerror_r(error, text, sizeof text);  // the GNU form, which answers with the text
}

}  // namespace meshmem
