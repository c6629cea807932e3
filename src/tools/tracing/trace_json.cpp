// SPDX-License-Identifier: Apache-2.0
//
// Viewers show a PE as a process, and its tracks as threads. One event a line.
// Invariant: the file has its name only once it is whole.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iterator>
#include <limits>

#include "tools/tracing/timeline.hpp"

namespace meshmem::tracing {
namespace {

constexpr std::size_t kBytesAtOnce = 1 << 20;

constexpr std::string_view kComparisons[] = {"==", "!=", ">", "<=", "<", ">="};
constexpr std::string_view kAreas[] = {"", "heap", "statics", "device heap"};

// In the order of Kind.
constexpr std::string_view kCategories[] = {
    "other",    "transfer",   "transfer", "signal", "transfer",   "variable",
    "variable", "variable",   "wait",     "wait",   "collective", "collective",
    "memory",   "collective", "order",    "lock",   "lock",       "library"};
static_assert(std::size(kCategories) == static_cast<std::size_t>(Kind::own_work) + 1);

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    const bool is_ascii = c >= ' ' && c < 0x7f;  // a name may end inside a longer character
    out += is_ascii ? c : '?';
  }
  return out + '"';
}

class JsonFile {
 public:
  JsonFile(const Timeline& timeline, std::FILE* file) : timeline_(timeline), file_(file) {
    begin_ns_ = std::numeric_limits<std::int64_t>::max();
    for (const Span& span : timeline.spans) begin_ns_ = std::min(begin_ns_, span.begin_ns);
  }

  bool write() {
    add("{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"made by\":\"meshmem\"}},"
        "\"traceEvents\":[\n");
    write_names();
    for (const Span& span : timeline_.spans) write_span(span);
    for (std::size_t i = 0; i < timeline_.spans.size(); ++i)
      if (timeline_.spans[i].cause != UINT32_MAX) write_arrow(i);
    if (is_after_first_) add("\n");
    add("]}}\n");
    flush();
    return is_written_;
  }

 private:
  template <typename... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }
  void flush() {
    is_written_ = is_written_ && std::fwrite(text_.data(), 1, text_.size(), file_) == text_.size();
    text_.clear();
  }
  void begin_event() {
    if (text_.size() > kBytesAtOnce) flush();
    if (is_after_first_) add(",\n");
    is_after_first_ = true;
  }

  // Microseconds since the first call of the job.
  double time(std::int64_t ns) const { return static_cast<double>(ns - begin_ns_) / 1000; }

  void write_names() {
    for (std::size_t pe = 0; pe < timeline_.pes.size(); ++pe) {
      const PartHeader* header = timeline_.pes[pe];
      if (!header) continue;
      begin_event();
      add("{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"args\":{{\"name\":{}}}}}", pe,
          quoted(fmt::format("PE {} on {}", pe, text_of(header->host))));
      begin_event();
      add("{{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":{},"
          "\"args\":{{\"sort_index\":{}}}}}",
          pe, pe);
      write_slow_ways(pe, *header);
    }
    for (const Thread& thread : timeline_.threads) {
      begin_event();
      add("{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{},\"tid\":{},"
          "\"args\":{{\"name\":{}}}}}",
          thread.pe, thread.number, quoted(thread.name));
    }
  }

  // How often the PE has taken each slow way. Viewers leave out metadata that they do not know.
  void write_slow_ways(std::size_t pe, const PartHeader& header) {
    has_argument_ = false;
    for (std::size_t i = 0; i < std::size(kSlowWays); ++i) {
      if (header.slow_ways[i] == 0) continue;
      if (!has_argument_) {
        begin_event();
        add("{{\"ph\":\"M\",\"name\":\"slow_ways\",\"pid\":{},\"args\":{{", pe);
      }
      add_argument(kSlowWays[i].name, "{}", header.slow_ways[i]);
    }
    if (has_argument_) add("}}}}");
  }

  void write_span(const Span& span) {
    begin_event();
    add("{{\"ph\":\"X\",\"name\":\"{}{}\",\"cat\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":{:.3f},"
        "\"dur\":{:.3f},\"args\":{{",
        span.what().name, span.record->by_stream ? " (runs)" : "",
        span.is_enqueued() ? "enqueue" : kCategories[static_cast<std::size_t>(span.what().kind)],
        span.pe, span.thread, time(span.begin_ns),
        static_cast<double>(span.end_ns - span.begin_ns) / 1000);
    has_argument_ = false;
    write_arguments(span);
    if (span.waited_for >= 0) {
      add_argument("waited_us", "{:.3f}", static_cast<double>(span.waited_ns) / 1000);
      add_argument("waited_for", "\"PE {}\"", span.waited_for);
      if (span.cause != UINT32_MAX) add_cause(span);
    }
    if (!span.is_finished) add_argument("returned", "false");
    add("}}}}");
  }

  template <typename... Args>
  void add_argument(std::string_view name, fmt::format_string<Args...> format, Args&&... args) {
    add("{}\"{}\":", has_argument_ ? "," : "", name);
    has_argument_ = true;
    add(format, std::forward<Args>(args)...);
  }
  void add_place(std::string_view name, const Span& span, std::uint64_t address) {
    const Place place = timeline_.place_of(span.pe, address);
    if (place.area == Area::elsewhere) {
      add_argument(name, "\"{:#x}\"", place.offset);
    } else {
      add_argument(name, "\"{}+{:#x}\"", kAreas[static_cast<std::size_t>(place.area)],
                   place.offset);
    }
  }
  void add_value(std::string_view name, const Span& span, std::uint64_t value) {
    if (span.what().is_float) return;
    if (span.what().is_signed)
      add_argument(name, "{}", static_cast<std::int64_t>(span.widened(value)));
    else
      add_argument(name, "{}", span.widened(value));
  }
  // Names that call, and the time since it began: if both share one core, the time to wake up.
  void add_cause(const Span& span) {
    const Span& cause = timeline_.spans[span.cause];
    add_argument("ended_by", "\"{}\"", cause.what().name);
    const std::int64_t since_ns = span.end_ns - std::max(cause.begin_ns, span.begin_ns);
    add_argument("returned_after_us", "{:.3f}",
                 static_cast<double>(std::max<std::int64_t>(since_ns, 0)) / 1000);
  }
  void add_counts(const Span& span) {
    add_argument("nelems", "{}", span.record->count);
    add_argument("bytes", "{}", calls_of(span) * span.record->count * span.what().element_bytes);
  }
  void add_pe(const Span& span) {
    if (span.record->pe >= 0) add_argument("pe", "{}", span.record->pe);
  }
  // Calls of polled routines that are one after another and alike make one span.
  static std::uint64_t calls_of(const Span& span) {
    return span.what().is_polled ? span.record->other + 1 : 1;
  }
  void add_team(const Span& span) {
    const PartHeader& header = *timeline_.pes[static_cast<std::size_t>(span.pe)];
    const auto n = std::min<std::size_t>(header.n_teams, PartHeader::kTeams);
    for (const TeamName& team : std::span(header.teams, n))
      if (team.key == span.record->other)
        return add_argument("team", "{}", quoted(text_of(team.members)));
  }

  void write_arguments(const Span& span) {
    const Record& record = *span.record;
    if (calls_of(span) > 1) add_argument("calls", "{}", calls_of(span));
    switch (span.what().kind) {
      case Kind::put:
      case Kind::get:
        return write_transfer(span);
      case Kind::put_signal:
        write_transfer(span);
        return write_signal(span);
      case Kind::signal:
        write_signal(span);
        return add_pe(span);
      case Kind::set:
      case Kind::update:
        add_place("dest", span, record.dest);
        add_value("value", span, record.value);
        return add_pe(span);
      case Kind::fetch:
        add_place("source", span, record.dest);
        return add_pe(span);
      case Kind::wait:
      case Kind::wait_many:
        return write_wait(span);
      case Kind::collective:
      case Kind::broadcast:
        return write_collective(span);
      case Kind::meeting:
        return add_team(span);
      case Kind::lock:
      case Kind::unlock:
        return add_place("lock", span, record.dest);
      case Kind::allocation:
        if (record.dest) add_place("ptr", span, record.dest);
        if (record.count > 1) add_argument("bytes", "{}", record.count);
        if (record.has_result && record.source > 1) add_place("result", span, record.source);
        return;
      case Kind::own_work:
        if (record.count > 0) add_argument("commands", "{}", record.count);
        return;
      case Kind::order:
      case Kind::other:
        return;
    }
  }

  void write_transfer(const Span& span) {
    const Record& record = *span.record;
    if (record.has_result) {  // shmem_g, whose result is in place of the source
      add_place("source", span, record.dest);
    } else {
      add_place("dest", span, record.dest);
      add_place("source", span, record.source);
    }
    add_counts(span);
    add_pe(span);
  }
  void write_signal(const Span& span) {
    add_place("sig_addr", span, span.record->other);
    add_argument("signal", "{}", span.record->value);
    add_argument("sig_op", "\"{}\"", span.adds() ? "add" : "set");
  }
  void write_wait(const Span& span) {
    const Record& record = *span.record;
    add_place(span.what().kind == Kind::wait ? "ivar" : "ivars", span, record.dest);
    if (span.what().kind == Kind::wait_many) add_argument("nelems", "{}", record.count);
    const auto comparison = std::min<std::size_t>(record.comparison, std::size(kComparisons) - 1);
    add_argument("cmp", "\"{}\"", kComparisons[comparison]);
    add_value("cmp_value", span, record.value);
    if (record.has_result) add_argument("result", "{}", static_cast<std::int64_t>(record.source));
  }
  void write_collective(const Span& span) {
    add_team(span);
    add_place("dest", span, span.record->dest);
    add_place("source", span, span.record->source);
    if (span.what().element_bytes) add_counts(span);
    if (span.what().kind == Kind::broadcast && span.record->pe >= 0)
      add_argument("root", "\"PE {}\"", span.record->pe);
  }

  // From the begin of the call that ended a wait to just before the end of the wait.
  void write_arrow(std::size_t number) {
    const Span& wait = timeline_.spans[number];
    const Span& cause = timeline_.spans[wait.cause];
    const std::int64_t end = std::max(wait.begin_ns, wait.end_ns - 1);
    const std::int64_t begin = std::min(cause.begin_ns, end);
    begin_event();
    add("{{\"ph\":\"s\",\"name\":\"ends a wait\",\"cat\":\"cause\",\"id\":{},\"pid\":{},"
        "\"tid\":{},\"ts\":{:.3f}}}",
        number, cause.pe, cause.thread, time(begin));
    begin_event();
    add("{{\"ph\":\"f\",\"bp\":\"e\",\"name\":\"ends a wait\",\"cat\":\"cause\",\"id\":{},"
        "\"pid\":{},\"tid\":{},\"ts\":{:.3f}}}",
        number, wait.pe, wait.thread, time(end));
  }

  const Timeline& timeline_;
  std::FILE* file_;
  std::int64_t begin_ns_ = 0;
  fmt::memory_buffer text_;
  bool is_after_first_ = false, has_argument_ = false, is_written_ = true;
};

}  // namespace

bool write_json(const Timeline& timeline, const std::string& path) {
  const std::string unfinished = path + ".unfinished";
  std::FILE* file = std::fopen(unfinished.c_str(), "w");
  if (!file) return false;
  bool is_written = JsonFile(timeline, file).write();
  is_written = std::fclose(file) == 0 && is_written;
  if (is_written && std::rename(unfinished.c_str(), path.c_str()) == 0) return true;
  const int error = errno;
  unlink(unfinished.c_str());
  errno = error;
  return false;
}

}  // namespace meshmem::tracing
