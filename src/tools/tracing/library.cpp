// SPDX-License-Identifier: Apache-2.0
//
// The functions of this library that libmeshmem.so and `meshmem-trace join` call.
// Invariant: if the trace fails, one line says so, and the program's own calls go on.
#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tools/interpose/interpose.hpp"
#include "tools/interpose/teams.hpp"
#include "tools/tracing/exchange.hpp"
#include "tools/tracing/recorder.hpp"
#include "tools/tracing/streams.hpp"
#include "tools/tracing/timeline.hpp"

namespace meshmem::tracing {
namespace {

TraceJob traced_job;
pid_t traced_process = 0;  // a child of fork shares its part
// Lives for ever, as other things here do: a destructor of the program may finalize.
std::string& traced_file = *new std::string;

std::uint64_t slow_ways_before[std::size(kSlowWays)];  // of earlier jobs of the process

std::string path_of_part(const std::string& file, int pe) {
  return fmt::format("{}.pe{}.part", file, pe);
}

std::vector<std::string> paths_of_parts(const std::string& file) {
  std::string pattern;
  for (const char c : file) {
    if (std::strchr("\\*?[", c)) pattern += '\\';
    pattern += c;
  }
  glob_t found{};
  glob((pattern + ".pe*.part").c_str(), 0, nullptr, &found);
  std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

// Removes parts that a failed earlier job with more PEs has left: they would be joined with this
// job's.
void remove_parts_of_more_pes(const std::string& file, int n_pes) {
  for (const std::string& path : paths_of_parts(file))
    if (std::atoi(path.c_str() + file.size() + std::strlen(".pe")) >= n_pes) unlink(path.c_str());
}

std::string refusal(const std::string& reason) {
  return fmt::format(
      "MESHMEM_TRACE={}: {}; name a file in a folder in which every PE may write, on every machine",
      traced_file, reason);
}

// An older trace would pass for this job's.
std::string remove_older(const std::string& file) {
  struct stat about {};
  if (stat(file.c_str(), &about) != 0) return {};
  if (!S_ISREG(about.st_mode)) return "it exists and is not an ordinary file";
  return unlink(file.c_str()) == 0 ? "" : std::strerror(errno);
}

void count_slow_ways() {
  PartHeader& header = part_header();
  for (std::size_t i = 0; i < std::size(kSlowWays); ++i)
    header.slow_ways[i] =
        (*traced_job.slow_ways)[i].load(std::memory_order_relaxed) - slow_ways_before[i];
}

// The calls under way have lasted until then.
void note_end() {
  count_slow_ways();
  note_moment();
}

// Ctrl-C and launchers end a process by one of these signals. Those that the program handles or
// ignores are left to it.
constexpr int kEndings[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};

// A program that had a handler of its own for a while may call this one or put it back, also after
// the trace.
void note_end_by_signal(int number) {
  if (part_fd() >= 0 && getpid() == traced_process) note_end();
  ::signal(number, SIG_DFL);
  raise(number);  // ends the process when the handler returns
}

void replace_handlers(void (*of)(int), void (*by)(int)) {
  for (const int number : kEndings) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) != 0 || action.sa_handler != of) continue;
    action.sa_handler = by;
    action.sa_flags = 0;
    sigaction(number, &action, nullptr);
  }
}

void record_init(const TraceJob& job) {
  Record record{};
  while (routine(record.routine).name != job.init) ++record.routine;
  record.pe = -1;
  record.other = kWorldKey;
  record_since(job.init_begin, record);
}

Timeline make_timeline(const std::vector<PartCopy>& copies) {
  std::vector<std::span<std::byte>> parts;
  for (const PartCopy& copy : copies) parts.push_back(copy.bytes());
  Timeline timeline = read_parts(parts);
  find_causes(timeline);
  return timeline;
}

std::string join_parts(const std::vector<PartCopy>& copies) {
  for (const PartCopy& copy : copies)
    if (copy.bytes().empty()) return "there is no room on the disk for the parts of all PEs";
  const Timeline timeline = make_timeline(copies);
  if (!write_json(timeline, traced_file))
    return fmt::format("cannot write it: {}", std::strerror(errno));
  std::uint64_t left_out = 0;
  for (const PartHeader* header : timeline.pes) left_out += header ? header->left_out : 0;
  if (left_out > 0)
    traced_job.print_line(fmt::format(
        "MESHMEM_TRACE={}: the trace is full, and {} later calls are not in it; shmem_pcontrol(0) "
        "and shmem_pcontrol(1) choose what is recorded",
        traced_file, left_out));
  return {};
}

}  // namespace

std::string open_trace(const TraceJob& job) {
  if (job.version != kTraceJobVersion) return "libmeshmem_trace.so is of another meshmem";
  traced_file = job.file;
  traced_job = job;
  traced_job.file = traced_file;
  traced_process = getpid();
  if (job.pe == 0)
    if (const std::string error = remove_older(traced_file); !error.empty()) return refusal(error);
  if (job.is_first_of_node) remove_parts_of_more_pes(traced_file, job.n_pes);
  if (const std::string error = open_part(traced_job, path_of_part(traced_file, job.pe));
      !error.empty())
    return refusal(error);
  for (std::size_t i = 0; i < std::size(kSlowWays); ++i)
    slow_ways_before[i] = (*job.slow_ways)[i].load(std::memory_order_relaxed);
  record_init(job);
  forget_teams();
  name_predefined_teams(job);
  part_header().at_start = measure_clock(traced_job);
  use_streams(traced_job);
  put_wrappers_in_place();
  job.note_work->store(record_own_work, std::memory_order_release);
  replace_handlers(SIG_DFL, note_end_by_signal);
  return {};
}

void close_trace() {
  if (part_fd() < 0) return;
  replace_handlers(note_end_by_signal, SIG_DFL);
  traced_job.note_work->store(nullptr, std::memory_order_release);
  stop_recording();
  note_moment();
  part_header().at_end = measure_clock(traced_job);
  count_slow_ways();
  std::string error;
  const bool is_joined = gather_parts(traced_job, part_fd(), join_parts, error);
  if (!error.empty())
    traced_job.print_line(
        fmt::format("MESHMEM_TRACE={}: {}; the parts of the PEs are kept; `meshmem-trace join {}` "
                    "joins those of one machine",
                    traced_file, error, traced_file));
  close_part(is_joined);
}

void leave_trace() {
  if (part_fd() >= 0) note_end();
  say_what_is_left();
}

// Joins FILE.pe0.part, FILE.pe1.part, ... to FILE. Returns the number of parts, or -1 and errno.
int join_files(const char* file) {
  std::vector<PartCopy> copies;
  for (const std::string& path : paths_of_parts(file)) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) continue;
    copies.push_back(PartCopy::of_file(fd));
    ::close(fd);
  }
  const Timeline timeline = make_timeline(copies);
  if (timeline.spans.empty()) return 0;
  if (!write_json(timeline, file)) return -1;
  int n = 0;
  for (const PartHeader* header : timeline.pes) n += header != nullptr;
  return n;
}

}  // namespace meshmem::tracing

#define VISIBLE extern "C" __attribute__((visibility("default")))
VISIBLE void meshmem_open_trace(const meshmem::TraceJob& job, std::string& error) {
  error = meshmem::tracing::open_trace(job);
}
VISIBLE void meshmem_close_trace() { meshmem::tracing::close_trace(); }
VISIBLE void meshmem_leave_trace() { meshmem::tracing::leave_trace(); }
VISIBLE int meshmem_join_trace(const char* file) { return meshmem::tracing::join_files(file); }
#undef VISIBLE
