// SPDX-License-Identifier: Apache-2.0
// Gives PE 0 oshrun's standard input. PE 0 inherits a file or a pipe. It does not inherit a
// terminal: the kernel stops a process that reads it from another process group, and PE 0 has its
// own. So oshrun reads the terminal, and passes the text on through a pipe.
// Invariant: oshrun reads the terminal only while it is in the foreground. Used by running_job.cpp.
#ifndef MESHMEM_OSHRUN_TERMINAL_INPUT_HPP_
#define MESHMEM_OSHRUN_TERMINAL_INPUT_HPP_

#include <termios.h>
#include <unistd.h>

#include <string>

#include "pipe.hpp"

namespace meshmem {

class TerminalInput {
 public:
  TerminalInput() : is_terminal_(::isatty(STDIN_FILENO) == 1) {
    if (!is_terminal_) return;
    pipe_ = make_pipe();
    check(::fcntl(pipe_.write_end.get(), F_SETFL, O_NONBLOCK), "set up a pipe");
  }

  // The descriptor that PE 0 reads from; not needed any more once it is started.
  int fd_for_pe() const { return is_terminal_ ? pipe_.read_end.get() : STDIN_FILENO; }
  void close_fd_for_pe() { pipe_.read_end.reset(); }

  bool wants_input() const {
    return pipe_.write_end.is_open() && waiting_.empty() && in_foreground();
  }
  bool waits_for_foreground() const {
    return pipe_.write_end.is_open() && waiting_.empty() && !in_foreground();
  }
  bool wants_output() const { return pipe_.write_end.is_open() && !waiting_.empty(); }
  int output_fd() const { return pipe_.write_end.get(); }

  void read_some() {
    char buffer[4096];
    ssize_t bytes = ::read(STDIN_FILENO, buffer, sizeof(buffer));
    if (bytes < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (bytes <= 0) return pipe_.write_end.reset();
    waiting_.assign(buffer, static_cast<std::size_t>(bytes));
    write_some();
  }

  void write_some() {
    ssize_t bytes = ::write(pipe_.write_end.get(), waiting_.data(), waiting_.size());
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (bytes < 0) return pipe_.write_end.reset();  // PE 0 reads no more
    waiting_.erase(0, static_cast<std::size_t>(bytes));
  }

 private:
  // A terminal that is not the controlling one has no foreground, and stops no reader.
  static bool in_foreground() {
    const pid_t group = ::tcgetpgrp(STDIN_FILENO);
    return group < 0 || group == ::getpgrp();
  }

  bool is_terminal_;
  Pipe pipe_;
  std::string waiting_;  // read, and not yet written to the pipe
};

}  // namespace meshmem

#endif  // MESHMEM_OSHRUN_TERMINAL_INPUT_HPP_
