// SPDX-License-Identifier: Apache-2.0
//
// Makes the lines of the table. Two waits share a line if their texts differ only in addresses, or
// in numbers of blocks and threads: a symmetric variable has another address in each PE.
#include "base/status/status_table.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <map>

#include "base/machine/machine.hpp"

namespace meshmem {
namespace {

constexpr std::size_t kMostLines = 256;
constexpr std::size_t kMostRanges = 8;

struct Line {
  std::vector<int> pes;
  std::size_t waits = 0;
  std::uint64_t since_ns = 0;  // of the longest; 0: no wait
  std::string text;            // of the first
};

// The table before it is text: lines in the order in which they came up.
class Lines {
 public:
  void add(int pe, std::uint64_t since_ns, const std::string& text) {
    const auto [place, is_new] = places_.try_emplace(key_of(text), lines_.size());
    if (is_new) lines_.push_back({.pes = {}, .waits = 0, .since_ns = since_ns, .text = text});
    Line& line = lines_[place->second];
    if (line.pes.empty() || line.pes.back() != pe) line.pes.push_back(pe);
    ++line.waits;
    line.since_ns = std::min(line.since_ns, since_ns);
  }
  const std::vector<Line>& all() const { return lines_; }

 private:
  // The text without its addresses, and without the numbers of blocks and threads.
  static std::string key_of(const std::string& text) {
    std::string key;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool in_address = (key.ends_with("at 0x") || key.ends_with("from 0x")) &&
                              std::isxdigit(static_cast<unsigned char>(text[i]));
      const bool in_place = is_inside(text, i, "block (") || is_inside(text, i, "thread (");
      if (!in_address && !in_place) key += text[i];
    }
    return key;
  }
  // Whether character i is between `opening` and the next ')'.
  static bool is_inside(const std::string& text, std::size_t i, std::string_view opening) {
    const std::size_t begin = text.rfind(opening, i);
    return begin != std::string::npos && i >= begin + opening.size() && text.find(')', begin) > i;
  }

  std::vector<Line> lines_;
  std::map<std::string, std::size_t> places_;
};

std::string text_of_end(std::uint32_t ended) {
  const int status = static_cast<int>(ended - 1);
  if (!WIFSIGNALED(status)) return fmt::format("has ended with status {}", WEXITSTATUS(status));
  const char* name = strsignal(WTERMSIG(status));
  return fmt::format("was killed by signal {} ({})", WTERMSIG(status), name ? name : "?");
}

// The state of the main thread, as Linux tells it; "" if it does not.
std::string text_of_main_thread(std::int32_t pid) {
  if (pid <= 0) return "";
  const std::string folder = fmt::format("/proc/{}", pid);
  const std::string stat = read_whole_file(folder + "/stat").value_or("");
  const std::size_t end_of_name = stat.rfind(") ");
  if (end_of_name == std::string::npos) return "";
  const char state = stat[end_of_name + 2];
  if (state == 'R') return "; its main thread runs";
  if (state == 'T' || state == 't') return "; it is stopped (by a debugger, or until kill -CONT)";
  const std::string call = read_whole_file(folder + "/wchan").value_or("0");
  return call.empty() || call == "0" ? "; its main thread sleeps"
                                     : fmt::format("; its main thread sleeps in {}", call);
}

std::string text_of_idle(const PeStatus& pe) {
  const std::int32_t pid = pe.pid.load(std::memory_order_relaxed);
  switch (pe.phase.load(std::memory_order_relaxed)) {
    case PePhase::starting:
      return "is in shmem_init, and waits for nothing" + text_of_main_thread(pid);
    case PePhase::running:
      return fmt::format("waits for nothing in meshmem (long waits so far: {}){}",
                         pe.waits_done.load(std::memory_order_relaxed), text_of_main_thread(pid));
    case PePhase::finalized:
      return "has called shmem_finalize";
    case PePhase::silent:
      break;
  }
  return "has not come to shmem_init";
}

void add_pe(Lines& lines, int place, const PeStatus& pe) {
  const std::uint32_t told = pe.number.load(std::memory_order_relaxed);
  const int number = told == 0 ? place : static_cast<int>(told - 1);
  if (const std::uint32_t ended = pe.ended.load(std::memory_order_relaxed); ended != 0)
    return lines.add(number, 0, text_of_end(ended));
  bool waits = false;
  WaitSeen seen;
  for (const WaitRow& row : pe.rows) {
    if (!read_row(row, seen)) continue;
    waits = true;
    const std::string from = seen.caller.empty() ? "" : fmt::format("; called in {}", seen.caller);
    lines.add(number, seen.since_ns, seen.what + from);
  }
  if (const std::uint32_t more = pe.rowless.load(std::memory_order_relaxed); more != 0)
    lines.add(number, 0, fmt::format("... and {} more waits at the same time", more));
  else if (!waits)
    lines.add(number, 0, text_of_idle(pe));
}

std::string age_text(std::uint64_t since_ns, std::uint64_t now_ns) {
  if (since_ns == 0) return "-";
  const double seconds = now_ns > since_ns ? static_cast<double>(now_ns - since_ns) / 1e9 : 0.0;
  return seconds < 100 ? fmt::format("{:.1f} s", seconds) : fmt::format("{:.0f} s", seconds);
}

std::string line_text(const Line& line, std::uint64_t now_ns) {
  const std::string count =
      line.waits > line.pes.size() ? fmt::format(" ({} such waits)", line.waits) : "";
  return fmt::format("\n  {:<10} {:>7}   {}{}", pe_list(line.pes), age_text(line.since_ns, now_ns),
                     line.text, count);
}

// True if a wait of the host that began before has no caller. Waits of kernels name the kernel.
bool lacks_caller(const PeStatus& pe, std::uint64_t begun_before_ns) {
  WaitSeen seen;
  return std::any_of(pe.rows.begin(), pe.rows.end(), [&](const WaitRow& row) {
    return read_row(row, seen) && seen.caller.empty() && seen.since_ns < begun_before_ns &&
           seen.what.starts_with("waits for ");
  });
}

// Waits of the library's own threads never name a caller, nor do those of stopped PEs. So this ends
// when nobody looks any more.
void await_callers(const StatusBoard& board) {
  constexpr std::uint64_t kBeginsToLookNs = 500'000'000, kLongestNs = 10'000'000'000;
  constexpr timespec kNap{0, 10'000'000};
  const std::uint64_t asked_ns = monotonic_ns();
  board.job().callers_wanted_until_ns.store(asked_ns + kLongestNs, std::memory_order_relaxed);
  for (std::uint64_t now_ns = asked_ns; now_ns < asked_ns + kLongestNs; now_ns = monotonic_ns()) {
    bool one_looks = now_ns < asked_ns + kBeginsToLookNs, one_is_missing = false;
    for (int number = 0; number < board.n_pes(); ++number) {
      const PeStatus& pe = board.pe(number);
      if (pe.ended.load(std::memory_order_relaxed) != 0) continue;
      // Acquire: before the row. If nobody looks, the rows have the callers.
      if (pe.looking_up.load(std::memory_order_acquire) != 0) one_looks = true;
      if (lacks_caller(pe, asked_ns)) one_is_missing = true;
    }
    if (!one_looks || !one_is_missing) return;
    nanosleep(&kNap, nullptr);
  }
}

}  // namespace

std::string status_table_with_callers(const StatusBoard& board) {
  await_callers(board);
  return status_table(board, monotonic_ns());
}

std::string pe_list(const std::vector<int>& pes) {
  std::string list;
  std::size_t ranges = 0;
  for (std::size_t i = 0; i < pes.size();) {
    std::size_t end = i + 1;
    while (end < pes.size() && pes[end] == pes[end - 1] + 1) ++end;
    if (ranges++ == kMostRanges) return fmt::format("{},... ({} PEs)", list, pes.size());
    if (!list.empty()) list += ',';
    list += std::to_string(pes[i]);
    if (end > i + 1) list += fmt::format("..{}", pes[end - 1]);
    i = end;
  }
  return list;
}

std::string status_table(const StatusBoard& board, std::uint64_t now_ns) {
  Lines lines;
  for (int place = 0; place < board.n_pes(); ++place) add_pe(lines, place, board.pe(place));
  const JobStatus& job = board.job();
  const bool is_one = board.n_pes() == 1;
  std::string table =
      fmt::format("where the {} of {} {} after {}:\n  {:<10} {:>7}",
                  is_one ? "PE" : fmt::format("{} PEs", board.n_pes()), job.program.load(),
                  is_one ? "is" : "are",
                  age_text(job.started_ns.load(std::memory_order_relaxed), now_ns), "PE", "for");
  for (std::size_t i = 0; i < lines.all().size() && i < kMostLines; ++i)
    table += line_text(lines.all()[i], now_ns);
  if (lines.all().size() > kMostLines)
    table += fmt::format("\n  ... and {} more lines", lines.all().size() - kMostLines);
  return table;
}

}  // namespace meshmem
