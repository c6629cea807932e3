// SPDX-License-Identifier: Apache-2.0
// Prints the PEs' output in whole lines, without delay. A stream whose unfinished line has been
// shown (a prompt, a progress bar) *owns* the sink until the line ends. The others wait for it, but
// not for ever.
// Invariant: a stream's bytes are printed in order. Only tags, and a line end between two streams,
// are added. Called by running_job.cpp.
#include "output.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>

namespace meshmem {
namespace {

using namespace std::chrono_literals;

// An unfinished line is shown after this long, so that prompts and progress bars are seen.
constexpr auto kFragmentDelay = 50ms;
// How long whole lines wait for another PE's unfinished one before they break it.
constexpr auto kTerminalPatience = 1s;
constexpr auto kPatience = 5s;
// A line longer than this is passed on in parts.
constexpr std::size_t kLongLine = 16 << 20;
// While so much output waits for oshrun's own reader, nothing is read from PEs.
constexpr std::size_t kFullSink = 1 << 20;
constexpr std::size_t kReadBytes = 64 << 10;
// The bytes that a pipe takes without blocking once poll() says that it takes anything, and the
// size of a stdio buffer on a pipe.
constexpr std::size_t kPage = 4096;

bool lead_to_same_place(int a, int b) {
  struct stat of_a, of_b;
  if (::fstat(a, &of_a) != 0 || ::fstat(b, &of_b) != 0) return false;
  return of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

}  // namespace

// --- Sink ------------------------------------------------------------------------------------

Sink::Sink(int fd) : fd_(fd), terminal_(::isatty(fd) == 1) {
  struct stat about {};
  ::fstat(fd, &about);
  socket_ = S_ISSOCK(about.st_mode);
  never_blocks_ = S_ISREG(about.st_mode);
}

void Sink::write(std::string_view text) {
  if (text.empty() || broken_) return;
  mid_line_ = text.back() != '\n';
  if (pending_.empty() && never_blocks_) {
    ssize_t written = write_some(text.data(), text.size());
    text.remove_prefix(std::max<ssize_t>(written, 0));
  }
  pending_.insert(pending_.end(), text.begin(), text.end());
  flush();
}

void Sink::finish_line() {
  if (mid_line_) write("\n");
}

// At most one page a call where the descriptor may block. O_NONBLOCK does not help, as it would be
// set for every process that shares the terminal or pipe.
ssize_t Sink::write_some(const char* text, std::size_t bytes) {
  if (never_blocks_) return ::write(fd_, text, bytes);
  if (socket_) return ::send(fd_, text, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
  pollfd ready{fd_, POLLOUT, 0};
  if (::poll(&ready, 1, 0) <= 0) {
    errno = EAGAIN;
    return -1;
  }
  return ::write(fd_, text, std::min(bytes, kPage));
}

void Sink::flush() {
  std::size_t done = 0;
  while (done < pending_.size()) {
    ssize_t written = write_some(pending_.data() + done, pending_.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) break;
    if (written < 0) {
      // On a full disk this text is lost, and the job goes on: its work is worth more than its
      // text, and there may be room later.
      const bool has_no_room = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;
      const bool disk_fails = errno == EIO && !terminal_;  // EIO of a terminal: it has hung up
      if ((has_no_room || disk_fails) && lost_by_ == 0) lost_by_ = errno;
      broken_ = !has_no_room;
      done = pending_.size();
      break;
    }
    done += static_cast<std::size_t>(written);
  }
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(done));
}

void Sink::discard() {
  pending_.clear();
  broken_ = true;
}

// --- Output: reading -------------------------------------------------------------------------

Output::Output(bool tag_lines)
    : tag_lines_(tag_lines),
      err_(lead_to_same_place(STDOUT_FILENO, STDERR_FILENO) ? out_ : separate_err_) {}

Stream& Output::add(int pe, UniqueFd fd, bool is_error) {
  check(::fcntl(fd.get(), F_SETFL, O_NONBLOCK), "set up a pipe");
  streams_.push_back(Stream{pe, is_error ? &err_ : &out_, std::move(fd)});
  return streams_.back();
}

bool Output::wants_input(const Stream& stream) const {
  bool holds_too_much = stream.text.size() > kLongLine && !may_print(stream);
  return stream.fd.is_open() && stream.sink->pending_bytes() < kFullSink && !holds_too_much;
}

void Output::read_from(Stream& stream) {
  static char buffer[kReadBytes];
  ssize_t bytes = ::read(stream.fd.get(), buffer, sizeof(buffer));
  if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (bytes <= 0) return end_stream(stream);
  std::string_view news(buffer, static_cast<std::size_t>(bytes));
  if (stream.text.empty()) stream.since = Clock::now();
  if (std::size_t end = news.rfind('\n'); end != news.npos) {
    stream.complete = stream.text.size() + end + 1;
  }
  stream.text += news;
  stream.maybe_split = news.size() % kPage == 0;
  if (stream.sink->is_broken()) {
    // The PE learns it as it would without oshrun: its next write fails.
    stream.fd.reset();
    stream.text.clear();
    stream.complete = 0;
    return;
  }
  if (may_print(stream)) print_lines(stream);
}

void Output::end_stream(Stream& stream) {
  stream.fd.reset();
  if (!may_print(stream)) {
    // A last line without a newline is complete too, and is printed in its turn.
    if (!stream.text.empty() && stream.text.back() != '\n') stream.text += '\n';
    stream.complete = stream.text.size();
    return;
  }
  print_lines(stream);
  print_fragment(stream);
  stream.sink->owner = nullptr;
  print_waiting(*stream.sink);
}

// --- Output: printing ------------------------------------------------------------------------

bool Output::may_print(const Stream& stream) const {
  return stream.sink->owner == nullptr || stream.sink->owner == &stream;
}

void Output::print_lines(Stream& stream) {
  Sink& sink = *stream.sink;
  bool owns = sink.owner == &stream;
  if (stream.complete > 0) {
    if (!owns) sink.finish_line();  // another PE may have ended in the middle of a line
    std::string_view lines(stream.text.data(), stream.complete);
    if (owns || !tag_lines_) {
      std::size_t untagged = tag_lines_ ? lines.find('\n') + 1 : lines.size();
      sink.write(lines.substr(0, untagged));
      lines.remove_prefix(untagged);
    }
    if (tag_lines_) print_tagged(stream, lines);
    stream.text.erase(0, stream.complete);
    stream.complete = 0;
    stream.since = Clock::now();
    sink.owner = nullptr;
    if (owns) print_waiting(sink);
  } else if (owns) {
    print_fragment(stream);
  }
  if (stream.text.size() > kLongLine && may_print(stream)) print_fragment(stream);
}

void Output::print_tagged(const Stream& stream, std::string_view lines) {
  std::string tagged;
  while (!lines.empty()) {
    std::size_t end = lines.find('\n');
    tagged += fmt::format("[{}] ", stream.pe);
    tagged += lines.substr(0, end + 1);
    lines.remove_prefix(end + 1);
  }
  stream.sink->write(tagged);
}

// Prints the beginning of a line whose end is still to come, or never comes.
void Output::print_fragment(Stream& stream) {
  if (stream.text.empty()) return;
  Sink& sink = *stream.sink;
  if (sink.owner != &stream) {
    sink.finish_line();
    if (tag_lines_) sink.write(fmt::format("[{}] ", stream.pe));
  }
  sink.write(stream.text);
  stream.text.clear();
  sink.owner = &stream;
  if (tag_lines_ && !stream.fd.is_open()) sink.finish_line();
}

void Output::print_waiting(const Sink& sink) {
  for (Stream& stream : streams_) {
    if (stream.sink == &sink && stream.complete > 0 && may_print(stream)) print_lines(stream);
  }
}

// When the stream's text must be printed at the latest, even in the middle of another PE's line, or
// without its own line's end. A part of a very long line counts as lines do, since its PE may wait
// until it is read.
Clock::time_point Output::due_time(const Stream& stream) const {
  if (stream.text.empty()) return Clock::time_point::max();
  if (!may_print(stream)) {
    const bool holds_lines = stream.complete > 0 || stream.text.size() > kLongLine;
    if (!holds_lines) return Clock::time_point::max();
    return stream.since +
           (stream.sink->is_terminal() ? kTerminalPatience : Clock::duration(kPatience));
  }
  if (tag_lines_ || stream.maybe_split) return Clock::time_point::max();
  return stream.since + kFragmentDelay;
}

Clock::time_point Output::next_due() const {
  Clock::time_point first = Clock::time_point::max();
  for (const Stream& stream : streams_) first = std::min(first, due_time(stream));
  return first;
}

void Output::print_due(Clock::time_point now) {
  for (Stream& stream : streams_) {
    if (due_time(stream) > now) continue;
    if (may_print(stream)) {
      print_lines(stream);
      print_fragment(stream);
    } else {
      stream.sink->owner = nullptr;
      stream.sink->finish_line();
      print_waiting(*stream.sink);
      if (stream.text.size() > kLongLine && may_print(stream)) print_fragment(stream);
    }
  }
}

void Output::print_own_text(std::string_view text) {
  err_.finish_line();
  err_.owner = nullptr;
  err_.write(fmt::format("oshrun: {}\n", text));
}

void Output::close_streams() {
  for (Stream& stream : streams_) {
    if (stream.fd.is_open()) read_from(stream);  // what came while the sink was full
    if (stream.fd.is_open()) end_stream(stream);
  }
  out_.owner = err_.owner = nullptr;
  print_waiting(out_);
  print_waiting(err_);
}

void Output::flush() {
  out_.flush();
  err_.flush();
}

void Output::discard() {
  out_.discard();
  err_.discard();
}

}  // namespace meshmem
