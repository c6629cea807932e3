// SPDX-License-Identifier: Apache-2.0
//
// The data that libmeshmem.so hands to the library of traces (src/tools/tracing/) or of races
// (src/tools/races/), and the names of the functions that it calls there. They share nothing else.
// Invariant: plain data, valid during the call. The functions stay valid, and so do the members
// whose comments say so.
#ifndef MESHMEM_BASE_HOOKS_TRACE_JOB_HPP_
#define MESHMEM_BASE_HOOKS_TRACE_JOB_HPP_

#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status/slow_ways.hpp"

namespace meshmem {

inline constexpr unsigned kTraceJobVersion = 9;

// A segment of this PE. It has the same length on all PEs, and a base of its own on each.
struct TraceRange {
  std::uintptr_t base = 0;
  std::size_t bytes = 0;
};

// trace_ticks() reads the processor's counter, in a third of the time that the system's clock
// takes. A processor without a counter for programs has the clock only.
inline std::uint64_t trace_clock_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}
inline std::uint64_t trace_ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return trace_clock_ns();
#endif
}

// One moment, by both clocks.
struct TraceMoment {
  std::uint64_t ticks = 0;
  std::uint64_t ns = 0;
  static TraceMoment now() { return {trace_ticks(), trace_clock_ns()}; }
  // Takes the reading that took least time of several: a thread may lose its core between the two
  // clocks.
  static TraceMoment now_exactly() {
    constexpr int kReadings = 5;
    TraceMoment best;
    std::uint64_t least = UINT64_MAX;
    for (int i = 0; i < kReadings; ++i) {
      const std::uint64_t begin = trace_ticks(), ns = trace_clock_ns();
      const std::uint64_t took = trace_ticks() - begin;
      if (took < least) best = {begin + took / 2, ns}, least = took;
    }
    return best;
  }
};

// The work that threads of the library do beside the program.
enum class OwnWork : std::uint8_t { take_in_messages, serve_kernels };
// Called by the thread that has just done the work. commands: how many commands of kernels it has
// done.
using NoteWork = void (*)(OwnWork what, const TraceMoment& begin, std::uint64_t commands);

// Answers a question of a PE on another node. Any thread that takes in messages may call it, so it
// must not wait for another answer. False: there is no such question.
using AnswerQuestion = bool (*)(const std::byte* question, std::size_t bytes, std::byte* answer,
                                std::size_t answer_bytes);
inline constexpr std::size_t kMostOfQuestion = 48 * 1024, kMostOfAnswer = 8 * 1024;

struct TraceJob {
  unsigned version = kTraceJobVersion;
  std::string_view file;  // MESHMEM_TRACE
  int pe = 0, n_pes = 1;
  int node = 0, n_nodes = 1;
  int n_machines = 1;  // fake nodes share one
  int first_pe_of_node = 0;
  bool is_first_of_node = true;
  const char* init = "shmem_init";  // the routine that is under way
  TraceMoment init_begin;           // when it began
  int thread_level = 0;             // SHMEM_THREAD_*, as the program has asked for
  TraceRange heap, statics, device_heap;
  bool polls = false;                              // MESHMEM_CHECK=races-polled
  bool has_kernels = false;                        // of the program, on this PE
  void (*print_line)(std::string_view) = nullptr;  // one line on standard error
  void (*fail)(std::string_view) = nullptr;        // prints an error's line and ends the job
  void (*wait_for_other_processes)() = nullptr;    // on this machine
  bool (*is_team)(void* handle) = nullptr;         // whether there is such a team now
  // Says where the program made the call that returns to this address.
  std::string (*return_address_text)(const void* return_address) = nullptr;
  std::string (*variable_at)(const void* address) = nullptr;  // "" if it is not known
  std::atomic<NoteWork>* note_work = nullptr;  // valid for as long as the process lives
  const SlowWayCounts* slow_ways = nullptr;    // likewise; of all jobs of the process
  // call_on_stream() puts a call of the function on the stream; false if the stream takes none.
  // is_captured() says whether a graph captures the stream.
  bool (*call_on_stream)(void* stream, void (*function)(void*), void* argument) = nullptr;
  bool (*is_captured)(void* stream) = nullptr;
  // For nodes with a network between them; nullptr: all PEs share one memory. ask() returns when
  // the process that serves `pe` on its node has answered.
  void (*ask)(int pe, const void* question, std::size_t bytes, void* answer,
              std::size_t answer_bytes) = nullptr;
  void (*answer_with)(AnswerQuestion answer) = nullptr;  // nullptr: nobody asks any more
  int (*node_of)(int pe) = nullptr;
};

// error: "", or a line that says why there can be no trace. Collective, after start-up.
using OpenTrace = void (*)(const TraceJob&, std::string& error);
inline constexpr char kOpenTraceSymbol[] = "meshmem_open_trace";
// Writes the file. Collective, before memory and teams end.
using CloseTrace = void (*)();
inline constexpr char kCloseTraceSymbol[] = "meshmem_close_trace";
// For a job that ends without closing it: prints in one line what is left of the trace.
using LeaveTrace = void (*)();
inline constexpr char kLeaveTraceSymbol[] = "meshmem_leave_trace";

}  // namespace meshmem

#endif  // MESHMEM_BASE_HOOKS_TRACE_JOB_HPP_
