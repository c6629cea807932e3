// SPDX-License-Identifier: Apache-2.0
//
// Lines to and from a launcher that speaks PMI-1, and the thread that sees it go.
// Invariant: nothing waits without the limit that it was given.
#include "bootstrap/pmi_connection.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>

#include "base/error.hpp"
#include "base/machine/thread.hpp"
#include "base/status/own_status.hpp"
#include "bootstrap/pmi_text.hpp"

namespace meshmem {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongestLine = 1 << 16;

[[noreturn]] void end_without_launcher() {
  static std::atomic_flag is_said;
  if (!is_said.test_and_set()) print_line("the launcher is gone; this PE ends too");
  _exit(1);
}

[[noreturn]] void end_in_wait(const AwaitedAnswer& awaited) {
  print_line(fmt::format("waited {:g} s for {}; the limit is {}", awaited.seconds, awaited.what,
                         awaited.limit));
  print_status_table();
  _exit(1);
}

int socket_of(std::string_view descriptor) {
  int fd = -1;
  const char* end = descriptor.data() + descriptor.size();
  const auto [stop, error] = std::from_chars(descriptor.data(), end, fd);
  struct stat status {};
  if (error != std::errc() || stop != end || fd < 0 || fstat(fd, &status) != 0 ||
      !S_ISSOCK(status.st_mode)) {
    fatal(
        "PMI_FD={} names no connection to a launcher: only the process that the launcher has "
        "started has it, not one that a PE has started",
        descriptor);
  }
  return fd;
}

// false: the time is over.
bool wait_until_readable(int fd, Clock::time_point begin, double seconds) {
  pollfd wanted{.fd = fd, .events = POLLIN, .revents = 0};
  while (true) {
    int milliseconds = -1;
    if (seconds > 0) {
      const std::chrono::duration<double> passed = Clock::now() - begin;
      milliseconds = static_cast<int>(std::clamp((seconds - passed.count()) * 1e3, 0.0, 1e9));
    }
    const int found = poll(&wanted, 1, milliseconds);
    if (found > 0) return true;
    if (found == 0 && milliseconds < 1'000'000'000) return false;
    if (found < 0 && errno != EINTR) fatal("cannot wait for the launcher: {}", errno_text());
  }
}

}  // namespace

PmiConnection::PmiConnection(const char* descriptor)
    : given_(socket_of(descriptor)),
      fd_(check(fcntl(given_, F_DUPFD_CLOEXEC, 0), "keep the connection to the launcher")),
      stop_(check(eventfd(0, EFD_CLOEXEC), "watch the launcher")) {
  fcntl(given_, F_SETFD, FD_CLOEXEC);  // what a PE starts is no PE
}

std::string PmiConnection::ask(std::string_view command, std::string_view words,
                               std::string_view answer, const AwaitedAnswer& awaited) {
  const std::lock_guard lock(conversation_);
  say(fmt::format("cmd={}{}\n", command, words));
  std::string line = read_line(awaited);
  if (pmi_word(line, "cmd") != answer) {
    fatal("the launcher does not speak PMI-1: it answers cmd={} with cmd={}", command,
          pmi_word(line, "cmd").value_or("").substr(0, 40));
  }
  return line;
}

void PmiConnection::say_goodbye() {
  if (watch_.joinable()) {
    eventfd_write(stop_, 1);
    watch_.join();
  }
  const std::lock_guard lock(conversation_);
  constexpr std::string_view kLine = "cmd=finalize\n";
  if (send(fd_, kLine.data(), kLine.size(), MSG_NOSIGNAL) < 0) return;
  char answer[64];
  if (wait_until_readable(fd_, Clock::now(), 5)) [[maybe_unused]]
    const ssize_t n = recv(fd_, answer, sizeof answer, MSG_DONTWAIT);
}

// A short line goes out in one piece.
void PmiConnection::say_abort(int status) {
  const std::string line = fmt::format("cmd=abort exitcode={}\n", status);
  [[maybe_unused]] const ssize_t n =
      send(fd_, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void PmiConnection::say(std::string_view line) {
  while (!line.empty()) {
    const ssize_t sent = send(fd_, line.data(), line.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      line.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      pollfd wanted{.fd = fd_, .events = POLLOUT, .revents = 0};
      poll(&wanted, 1, -1);
    } else if (errno != EINTR) {
      end_without_launcher();
    }
  }
}

std::string PmiConnection::read_line(const AwaitedAnswer& awaited) {
  const Clock::time_point begin = Clock::now();
  std::string line;
  ShownWait shown(monotonic_ns());
  shown.say("waits for " + awaited.what);
  while (line.size() < kLongestLine) {
    if (!wait_until_readable(fd_, begin, awaited.seconds)) end_in_wait(awaited);
    char bytes[4096];
    const ssize_t peeked = recv(fd_, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
    if (peeked < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (peeked <= 0) end_without_launcher();
    const std::string_view seen(bytes, static_cast<std::size_t>(peeked));
    const std::size_t end = seen.find('\n');
    const std::size_t taken = end == seen.npos ? seen.size() : end + 1;
    if (recv(fd_, bytes, taken, 0) != static_cast<ssize_t>(taken)) end_without_launcher();
    line += seen.substr(0, std::min(end, taken));
    if (end != seen.npos) return line;
  }
  fatal("the launcher does not speak PMI-1: it sends more than {} bytes without an end of line",
        kLongestLine);
}

void PmiConnection::watch_launcher() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are the program's business
  watch_ = start_thread("that watches the launcher", [this] { watch(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// MPI in this program, if it shares the connection, closes its descriptor when it says goodbye.
// The launcher has closed its end then, and lives.
void PmiConnection::watch() {
  pollfd wanted[2] = {{.fd = fd_, .events = POLLRDHUP, .revents = 0},
                      {.fd = stop_, .events = POLLIN, .revents = 0}};
  while (poll(wanted, 2, -1) < 0) {
  }
  if (wanted[1].revents != 0) return;
  for (int i = 0; i < 5; ++i) {
    if (poll(&wanted[1], 1, 100) > 0) return;
    if (fcntl(given_, F_GETFD) < 0) return;
  }
  end_without_launcher();
}

}  // namespace meshmem
