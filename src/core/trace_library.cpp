// SPDX-License-Identifier: Apache-2.0
//
// Loads the library, and gives it the facts and functions by which it sees the job (TraceJob).
// Invariant: the library stays loaded, since its wrappers may be called as long as the process
// lives.
#include "core/trace_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/code_place.hpp"
#include "base/error.hpp"
#include "base/hooks/own_work.hpp"
#include "base/machine/loaded_libraries.hpp"
#include "base/status/own_status.hpp"
#include "bootstrap/job.hpp"
#include "core/runtime.hpp"
#include "gpu/device_segments.hpp"
#include "gpu/launch_on_stream.hpp"
#include "gpu/modules.hpp"

namespace meshmem {
namespace {

constexpr char kTraceLibrary[] = "libmeshmem_trace.so", kRacesLibrary[] = "libmeshmem_races.so";

struct TraceLibrary {
  OpenTrace open = nullptr;
  CloseTrace close = nullptr;
  LeaveTrace leave = nullptr;
  int rounds = 0;
  bool is_open = false;
};
TraceLibrary library;

template <typename Function>
bool find(void* loaded, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(loaded, name));
  return function != nullptr;
}

std::optional<std::string> load(const char* variable, const char* file) {
  if (library.open) return std::nullopt;
  void* loaded = dlopen(place_of_library(file).c_str(), RTLD_NOW | RTLD_LOCAL);
  const bool is_whole = loaded && find(loaded, kOpenTraceSymbol, library.open) &&
                        find(loaded, kCloseTraceSymbol, library.close) &&
                        find(loaded, kLeaveTraceSymbol, library.leave);
  if (is_whole) return std::nullopt;
  return fmt::format("{}: cannot load {}: {}; it comes with libmeshmem.so", variable, file,
                     dlerror());
}

TraceRange range_of(const Segment& segment) { return {segment.base, segment.bytes}; }

TraceRange device_heap() {
  if (!runtime().has_devices()) return {};
  const Slab& slab = runtime().device_memory().data();
  return {reinterpret_cast<std::uintptr_t>(slab.base), slab.bytes};
}

bool call_on_stream(void* stream, void (*function)(void*), void* argument) {
  return try_call_on_stream(static_cast<hipStream_t>(stream), function, argument);
}

// The default stream is never captured, and must not be asked while another stream is.
bool is_stream_captured(void* stream) {
  return stream != nullptr && is_captured(static_cast<hipStream_t>(stream));
}

void ask(int pe, const void* question, std::size_t bytes, void* answer, std::size_t answer_bytes) {
  runtime().job().network().transport().ask(pe, question, bytes, answer, answer_bytes);
}
void answer_with(AnswerQuestion answer) {
  runtime().job().network().transport().answer_with(answer);
}
bool is_team(void* handle) {
  return runtime().is_active() &&
         runtime().teams().find(static_cast<shmem_team_t>(handle)) != nullptr;
}
int node_of(int pe) { return runtime().nodes().node_of(pe); }

void place_on_node(TraceJob& job) {
  const Nodes& nodes = runtime().nodes();
  if (!nodes.has_several()) return;
  job.n_nodes = nodes.n();
  job.n_machines = joined_job().has_fake_nodes ? 1 : nodes.n();
  job.node = nodes.mine();
  job.first_pe_of_node = nodes.first_pe_of(job.node);
  job.is_first_of_node = job.first_pe_of_node == job.pe;
  job.node_of = node_of;
  job.ask = ask;
  job.answer_with = answer_with;
}

}  // namespace

std::optional<std::string> open_trace(const char* routine, int thread_level,
                                      const TraceMoment& begin) {
  std::string file = runtime().environment().trace;
  const Check check = runtime().environment().check;
  const bool checks_races = has(check, Check::races);
  if (file.empty() && !checks_races) return std::nullopt;
  if (auto error = checks_races ? load("MESHMEM_CHECK", kRacesLibrary)
                                : load("MESHMEM_TRACE", kTraceLibrary))
    return error;
  if (++library.rounds > 1) file += fmt::format(".{}", library.rounds);
  TraceJob job{.file = file,
               .pe = address_map.my_pe,
               .n_pes = static_cast<int>(address_map.n_pes),
               .init = routine,
               .init_begin = begin,
               .thread_level = thread_level,
               .heap = range_of(address_map.heap),
               .statics = range_of(address_map.statics),
               .device_heap = device_heap(),
               .polls = has(check, Check::polled),
               .has_kernels = modules().programs_have_kernels(),
               .print_line = print_line,
               .fail = fatal_message,
               .wait_for_other_processes = wait_for_other_processes,
               .is_team = is_team,
               .return_address_text = return_address_text,
               .variable_at = variable_at,
               .note_work = &note_work,
               .slow_ways = &slow_way_counts,
               .call_on_stream = call_on_stream,
               .is_captured = is_stream_captured};
  job.is_first_of_node = job.pe == 0;
  place_on_node(job);
  std::string error;
  library.open(job, error);
  if (!error.empty()) return error;
  library.is_open = true;
  set_before_job_ends(library.leave);
  return std::nullopt;
}

void close_trace() {
  if (!library.is_open) return;
  library.close();
  library.is_open = false;
  set_before_job_ends(nullptr);
}

}  // namespace meshmem
