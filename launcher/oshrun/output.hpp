// SPDX-License-Identifier: Apache-2.0
// Brings what PEs write to oshrun's own stdout and stderr.
// Words: a *stream* is one PE's stdout or stderr; a *sink* is where oshrun's goes. Invariant: bytes
// of two streams meet in a sink only at the end of a line, and oshrun never blocks on a sink.
// Used by running_job.cpp, on the main thread.
#ifndef MESHMEM_OSHRUN_OUTPUT_HPP_
#define MESHMEM_OSHRUN_OUTPUT_HPP_

#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "unique_fd.hpp"

namespace meshmem {

using Clock = std::chrono::steady_clock;

// One of oshrun's own outputs, with what could not be written to it yet.
class Sink {
 public:
  explicit Sink(int fd);

  void write(std::string_view text);
  void finish_line();  // so that what is written next starts one
  void flush();        // writes as much as the other end takes now

  int fd() const { return fd_; }
  bool has_pending() const { return !pending_.empty(); }
  bool is_full() const;
  bool is_broken() const { return broken_; }  // nobody reads it any more
  int lost_by() const { return lost_by_; }    // errno's value when text was lost, as on a full disk
  bool is_terminal() const { return terminal_; }
  void discard();

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
  bool maybe_split = false;  // it ends where a stdio buffer was full, so more of the line will come
};

// All streams, and whose line is unfinished in each sink.
class Output {
 public:
  explicit Output(bool tag_lines);

  Stream& add(int pe, UniqueFd fd, bool is_error);
  std::deque<Stream>& streams() { return streams_; }
  const std::deque<Stream>& streams() const { return streams_; }
  bool wants_input(const Stream& stream) const;

  void read_from(Stream& stream);  // when its descriptor is readable
  void print_due(Clock::time_point now);
  std::optional<Clock::time_point> next_due() const;

  void say(std::string_view line);  // a line of oshrun's own, to stderr
  void close_streams();
  void flush();
  void discard();
  bool has_pending() const { return out_.has_pending() || err().has_pending(); }
  Sink& out() { return out_; }
  Sink& err() { return same_sink_ ? out_ : err_; }
  const Sink& err() const { return same_sink_ ? out_ : err_; }

 private:
  Stream*& owner_of(const Sink& sink) { return owners_[&sink == &out_ ? 0 : 1]; }
  const Stream* owner_of(const Sink& sink) const { return owners_[&sink == &out_ ? 0 : 1]; }
  bool may_print(const Stream& stream) const;
  Clock::time_point due_time(const Stream& stream) const;
  void print_lines(Stream& stream);
  void print_fragment(Stream& stream);
  void print_tagged(const Stream& stream, std::string_view lines);
  void print_waiting(const Sink& sink);
  void end_stream(Stream& stream);

  bool tag_lines_;
  Sink out_;
  Sink err_;
  bool same_sink_;  // stdout and stderr go to the same place
  Stream* owners_[2] = {nullptr, nullptr};
  std::deque<Stream> streams_;  // a deque, as owners_ points into it
};

}  // namespace meshmem

#endif  // MESHMEM_OSHRUN_OUTPUT_HPP_
