// SPDX-License-Identifier: Apache-2.0
//
// The bar. Invariant: a line of it ends where the next begins, by a return and an erasure.
#include "bench/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

namespace meshmem::bench {
namespace {

constexpr int kWidth = 24;
constexpr const char* kErase = "\r\033[K";

// oshrun says where its pipes lead.
bool is_terminal(int fd, const char* told) {
  const char* const said = std::getenv(told);
  return isatty(fd) == 1 || (said && std::string(said) == "1");
}

}  // namespace

Progress::Progress(bool draws, int figures) : figures_(figures) {
  if (!draws || figures == 0 || !is_terminal(STDERR_FILENO, "MESHMEM_ERROR_TTY")) return;
  terminal_ = is_terminal(STDOUT_FILENO, "MESHMEM_OUTPUT_TTY") ? stdout : stderr;
}

void Progress::draw(const std::string& figure) const {
  const int full = kWidth * done_ / figures_;
  fmt::print(terminal_, "{}[{}{}] {}/{} {}", kErase,
             std::string(static_cast<std::size_t>(full), '#'),
             std::string(static_cast<std::size_t>(kWidth - full), '.'), done_, figures_, figure);
  std::fflush(terminal_);
}

void Progress::begin(const std::string& figure) {
  if (terminal_) draw(figure);
}

void Progress::end() {
  if (!terminal_) return;
  ++done_;
  if (terminal_ == stdout) {
    fmt::print("{}", kErase);
  } else if (done_ == figures_) {
    draw("\n");
  }
}

}  // namespace meshmem::bench
