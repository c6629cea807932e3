// SPDX-License-Identifier: Apache-2.0
//
// The one place that writes to standard error and that ends a job on an error.
// Invariant: a line is one write(2), so that lines of different PEs do not mix.
#include "base/error.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <new>
#include <system_error>
#include <thread>

#include "base/code_place.hpp"

namespace meshmem {
namespace {

std::atomic<int> this_pe{-1};
std::atomic<pid_t> process_of_pe{0};
std::atomic<AbortJob> abort_job_of_launcher{nullptr};
std::atomic<void (*)()> last_words{nullptr};
std::atomic<bool> debug_is_on{false};

std::atomic<int> messages_fd{STDERR_FILENO};

// "PE 3 (host a, pid 77)", as far as it is known. Allocates nothing.
std::string_view describe_this_process(char (&text)[320]) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  const int pe = this_pe;
  const auto end = pe >= 0 ? fmt::format_to_n(text, sizeof text, "PE {} (host {}, pid {})", pe,
                                              static_cast<const char*>(host), getpid())
                           : fmt::format_to_n(text, sizeof text, "host {}, pid {}",
                                              static_cast<const char*>(host), getpid());
  return {text, std::min(end.size, sizeof text)};
}

// The message whose place in the program is being looked up. The look-up allocates memory, and
// takes locks that another thread may hold for ever: then an alarm prints the message alone.
std::atomic<const std::string_view*> unsaid{nullptr};
constexpr unsigned kSecondsForPlace = 5, kSecondsForFlush = 1;

// Prints the program's own text before the message. A child of fork must not print its copy of the
// parent's text. Does not wait for the lock: another thread may hold it for ever.
void flush_standard_output() {
  for (const int number : {SIGPIPE, SIGXFSZ}) signal(number, SIG_IGN);  // or the message is lost
  if (getpid() != process_of_pe || ftrylockfile(stdout) != 0) return;
  fflush_unlocked(stdout);
  funlockfile(stdout);
}

bool say_the_unsaid() {
  const std::string_view* const message = unsaid.exchange(nullptr);
  if (message) print_line(*message);
  return message != nullptr;
}

}  // namespace

void set_identity(int pe) {
  this_pe = pe;
  process_of_pe = getpid();
}
void set_abort_job(AbortJob abort_job) { abort_job_of_launcher = abort_job; }
void set_before_job_ends(void (*say)()) { last_words = say; }
void enable_debug(bool enabled) { debug_is_on = enabled; }
bool debug_enabled() { return debug_is_on; }

void send_messages_to(int fd) { messages_fd = fd; }

void print_text(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(messages_fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // nowhere left to complain to
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Allocates only for a very long line. Without memory it prints the message alone.
void print_line(std::string_view message) {
  char who[320] = "";
  fmt::basic_memory_buffer<char, 4096> line;
  try {
    fmt::format_to(std::back_inserter(line), "meshmem: {}: {}\n", describe_this_process(who),
                   message);
    print_text({line.data(), line.size()});
  } catch (const std::bad_alloc&) {
    for (const std::string_view part : {message, std::string_view("\n")}) print_text(part);
  }
}

void print_line_with_place(std::string_view message) {
  unsaid = &message;
  signal(SIGALRM, [](int) {
    say_the_unsaid();
    _exit(1);
  });
  sigset_t end;  // the program may have blocked it
  sigemptyset(&end);
  sigaddset(&end, SIGALRM);
  pthread_sigmask(SIG_UNBLOCK, &end, nullptr);
  alarm(kSecondsForPlace);
  std::string line;
  try {
    const std::string place = program_call_text();
    line = place.empty() ? message : fmt::format("{}; called in {}", message, place);
  } catch (const std::bad_alloc&) {
  }
  const std::string_view whole = line.empty() ? message : line;
  unsaid = &whole;  // cppcheck-suppress danglingLifetime  // say_the_unsaid() takes it away
  alarm(kSecondsForFlush);
  flush_standard_output();
  alarm(0);
  say_the_unsaid();
}

// A thread that is blocked in a read or a write holds its stream's lock, and fflush waits for the
// lock. Only writers hold that of stdout, so wait for it.
void flush_streams() {
  constexpr int kMostNaps = 1000;
  constexpr timespec kNap{0, 1'000'000};
  std::fflush(stdout);
  static std::atomic<bool> is_over{false};
  try {
    std::thread([] {
      std::fflush(nullptr);
      is_over = true;
    }).detach();
  } catch (const std::system_error&) {  // no thread can be started
    std::fflush(nullptr);
    return;
  }
  for (int i = 0; i < kMostNaps && !is_over; ++i) nanosleep(&kNap, nullptr);
}

void wait_for_others_to_report() {
  timespec left{3, 0};  // Open MPI takes one second
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

void end_job_on_error() {
  if (void (*const say)() = last_words.exchange(nullptr)) say();
  if (const AbortJob abort_job = abort_job_of_launcher) abort_job(1);
  _exit(1);
}

void fatal_message(std::string_view message) {
  print_line_with_place(message);
  end_job_on_error();
}

void fatal_formatted(fmt::string_view format, fmt::format_args args) {
  try {
    fatal_message(fmt::vformat(format, args));
  } catch (const std::bad_alloc&) {
    fatal_without_memory();
  }
}

void fatal_without_memory() {
  if (!say_the_unsaid())
    print_line(
        "there is no memory left (malloc has failed); raise `ulimit -v` or the control group's "
        "limit, or start fewer PEs");
  end_job_on_error();
}

std::string errno_text(int error) {
  char text[128];
  return strerror_r(error, text, sizeof text);  // the GNU form, which returns the text
}

}  // namespace meshmem
