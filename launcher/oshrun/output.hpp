// SPDX-License-Identifier: Apache-2.0
// Brings what PEs write to oshrun's own stdout and stderr.
// Words: a *stream* is one PE's stdout or stderr; a *sink* is oshrun's own. Invariant: bytes of two
// streams meet in a sink only at the end of a line, and oshrun never blocks on a sink.
// Used by running_job.cpp, on the main thread.
#ifndef MESHMEM_OSHRUN_OUTPUT_HPP_
#define MESHMEM_OSHRUN_OUTPUT_HPP_

#include <fmt/core.h>

#include <chrono>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pipe.hpp"

namespace meshmem {

using Clock = std::chrono::steady_clock;

struct Stream;

// One of oshrun's own outputs, with what could not be written to it yet.
class Sink {
 public:
  explicit Sink(int fd);

  void write(std::string_view text);
  void finish_line();  // so that the next text begins a line
  void flush();        // writes as much as the other end takes now

  int fd() const { return fd_; }
  bool has_pending() const { return !pending_.empty(); }
  std::size_t pending_bytes() const { return pending_.size(); }
  bool is_broken() const { return broken_; }  // nobody reads it any more
  int lost_by() const { return lost_by_; }    // errno's value when text was lost, as on a full disk
  bool is_terminal() const { return terminal_; }
  void discard();

  const Stream* owner = nullptr;  // whose unfinished line was written last

 private:
  ssize_t write_some(const char* text, std::size_t bytes);

  int fd_;
  bool terminal_;
  bool socket_;
  bool never_blocks_;
  bool broken_ = false;
  int lost_by_ = 0;
  bool mid_line_ = false;
  std::vector<char> pending_;
};

struct Stream {
  int pe;
  Sink* sink;
  UniqueFd fd;                // the read end of the PE's pipe; closed when the PE's output ended
  std::string text{};         // read and not printed yet
  std::size_t complete = 0;   // how much of it is whole lines
  Clock::time_point since{};  // when the oldest of it came
  bool maybe_split = false;   // perhaps it ends where a stdio buffer was full, in mid-line
};

// All streams, and the two sinks.
class Output {
 public:
  explicit Output(bool tag_lines);

  Stream& add(int pe, UniqueFd fd, bool is_error);
  std::deque<Stream>& streams() { return streams_; }
  const std::deque<Stream>& streams() const { return streams_; }
  bool wants_input(const Stream& stream) const;

  void read_from(Stream& stream);  // when its descriptor is readable
  void print_due(Clock::time_point now);
  Clock::time_point next_due() const;  // when print_due() has work again; max(): never

  // A line of oshrun's own, to stderr.
  template <typename... Values>
  void print_own_line(fmt::format_string<Values...> line, Values&&... values) {
    print_own_text(fmt::format(line, std::forward<Values>(values)...));
  }
  void close_streams();
  void flush();
  void discard();
  bool has_pending() const { return out_.has_pending() || err_.has_pending(); }
  Sink& out() { return out_; }
  Sink& err() { return err_; }

 private:
  void print_own_text(std::string_view text);
  bool may_print(const Stream& stream) const;
  Clock::time_point due_time(const Stream& stream) const;
  void print_lines(Stream& stream);
  void print_fragment(Stream& stream);
  void print_tagged(const Stream& stream, std::string_view lines);
  void print_waiting(const Sink& sink);
  void end_stream(Stream& stream);

  bool tag_lines_;
  Sink out_{STDOUT_FILENO};
  Sink separate_err_{STDERR_FILENO};
  Sink& err_;                   // the same as out_ where stdout and stderr go to the same place
  std::deque<Stream> streams_;  // a deque, as sinks point into it
};

}  // namespace meshmem

#endif  // MESHMEM_OSHRUN_OUTPUT_HPP_
