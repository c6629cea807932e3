// SPDX-License-Identifier: Apache-2.0
//
// How long one reduction takes. On device memory many of them are captured into a graph, which is
// replayed between two events of the device; on host memory they are called one after the other.
// Invariant: all PEs get PE 0's figure, so that they go on alike.
#ifndef MESHMEM_BENCH_MEASURE_HPP_
#define MESHMEM_BENCH_MEASURE_HPP_

#include <cstddef>
#include <limits>

#include "bench/job.hpp"
#include "bench/routines.hpp"

namespace meshmem::bench {

struct Work {
  const Routine* routine;
  shmem_team_t team;  // SHMEM_TEAM_INVALID: this PE only keeps the others company
  int n;              // PEs of the team
  int me;             // this one's number there
  bool on_device;
  std::byte* dest;
  std::byte* source;  // may be dest
  std::size_t count;

  bool takes_part() const { return team != SHMEM_TEAM_INVALID; }
  std::size_t bytes() const { return count * routine->elem_bytes; }
};

struct Effort {
  int warm_ups;  // operations before the graph
  int nodes;     // of the graph
  int launches;  // of the graph, in a run
  int runs;      // the median counts
};
Effort thorough(std::size_t bytes, int runs);
Effort brief(std::size_t bytes);

// A stream, and what it takes to time it. One for the whole of the program.
class Meter {
 public:
  explicit Meter(bool on_device);
  ~Meter();
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  // Microseconds of one operation. What takes longer than `give_up_us` at a first or second look is
  // not looked at any further.
  double time(const Work& work, const Effort& wanted,
              double give_up_us = std::numeric_limits<double>::infinity());

  // A graph of so many operations; nullptr where this PE does not take part.
  hipGraphExec_t capture(const Work& work, int nodes);
  void replay(hipGraphExec_t graph, int launches);
  void finish();  // what is on the stream

 private:
  void call(const Work& work);
  double time_first(const Work& work);
  double time_replays(const Work& work, hipGraphExec_t graph, const Effort& effort);
  double time_calls(const Work& work, const Effort& effort);

  bool on_device_;
  hipStream_t stream_ = nullptr;
  hipEvent_t begin_ = nullptr;
  hipEvent_t end_ = nullptr;
};

}  // namespace meshmem::bench

#endif  // MESHMEM_BENCH_MEASURE_HPP_
