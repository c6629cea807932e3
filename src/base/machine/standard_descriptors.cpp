// SPDX-License-Identifier: Apache-2.0
//
// std::cout and stdio share the descriptor, so an error of either counts. A pipe whose reader has
// left is not reported. A captured descriptor is replaced by a pipe. Invariant and callers: see the
// header.
#include "base/machine/standard_descriptors.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <utility>

#include "base/error.hpp"
#include "base/machine/machine.hpp"

namespace meshmem {
namespace {

// A line of dashes, of those that frame PMIx's pages of text.
bool is_rule(std::string_view line) {
  return line.size() > 40 && line.find_first_not_of('-') == line.npos;
}

bool begins_complaint(std::string_view line) {
  return line.starts_with(fmt::format("[{}:{:05}] ", host_name(), getpid())) ||
         line.starts_with("[warn] ") || line.starts_with("[err] ") ||
         line.find("src/mca/ptl") != line.npos;
}

}  // namespace

void open_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest number that is free is this one.
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) < 0) return;
  }
}

int close_standard_output(const char* program, int status) {
  errno = 0;
  const bool stream_is_good = std::cout.flush().good();
  if (std::fflush(stdout) == 0 && stream_is_good && std::ferror(stdout) == 0) return status;
  if (errno != EPIPE) {
    std::fprintf(stderr, "%s: cannot write all to standard output: %s\n", program,
                 errno != 0 ? std::strerror(errno) : "is the disk full?");
  }
  return status != 0 ? status : 1;
}

CapturedOutput::CapturedOutput(int fd) : fd_(fd) {
  int ends[2] = {-1, -1};
  const int saved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (saved < 0) return;
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0 && dup2(ends[1], fd) >= 0) {
    if (fd == STDERR_FILENO) send_messages_to(saved);  // a line of meshmem's is not captured
    saved_ = saved;
    pipe_ = ends[0];
  } else {
    close(saved);
    close(ends[0]);
  }
  close(ends[1]);
}

std::string CapturedOutput::end() {
  std::string text;
  if (pipe_ < 0) return text;
  if (dup2(saved_, fd_) < 0) {
    close(fd_);  // else output would go nowhere; the lowest free number is now fd_
    fcntl(saved_, F_DUPFD, fd_);
  }
  if (fd_ == STDERR_FILENO) send_messages_to(STDERR_FILENO);
  close(saved_);
  char buffer[4096];
  for (ssize_t bytes; (bytes = read(pipe_, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(bytes));
  close(std::exchange(pipe_, -1));
  return text;
}

std::string without_pmix(std::string_view text) {
  std::string rest;
  bool in_page = false, in_complaint = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    const std::string_view line = text.substr(0, text[end] == '\n' ? end : end + 1);
    in_complaint = begins_complaint(line) || (in_complaint && line.starts_with("    "));
    if (is_rule(line)) {
      in_page = !in_page;
    } else if (!in_page && !in_complaint) {
      rest += text.substr(0, end + 1);
    }
    text.remove_prefix(end + 1);
  }
  return rest;
}

}  // namespace meshmem
