// SPDX-License-Identifier: Apache-2.0
//
// How long one operation takes: the one loop that measures. On a stream operations are captured
// into a graph, which is replayed between two events of the device. A kernel does all its rounds in
// one launch between two events. The host calls one after the other, by its own clock.
// Invariant: all PEs get PE 0's figure, so that all decide alike.
#ifndef MESHMEM_BENCH_MEASURE_HPP_
#define MESHMEM_BENCH_MEASURE_HPP_

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <type_traits>

#include "bench/joint_steps.hpp"

namespace meshmem::bench {

enum class Clock {
  host,    // calls that have done their work when they return
  stream,  // work that is put on the stream
  graph    // likewise; a graph of several rounds is captured, and replayed
};

struct Work {
  // Does `rounds` rounds, or puts them on the stream. Empty: this PE does none, and only meets and
  // agrees with the others.
  std::function<void(int rounds, hipStream_t stream)> run;
  Clock clock = Clock::host;
  int operations_of_round = 1;

  bool takes_part() const { return static_cast<bool>(run); }
};

struct Effort {
  int warm_ups;           // rounds before the graph is made
  int nodes;              // rounds in the graph
  int launches;           // of the graph, in a run
  int runs;               // whose median is the figure
  bool is_fixed = false;  // exactly as many, however long that takes
};
Effort thorough_effort(std::size_t bytes, int runs);  // for a figure
Effort brief_effort(std::size_t bytes);               // for a first comparison

// Microseconds of one operation, over several runs.
struct Timing {
  double median;
  double least;
  double most;
};

struct DropGraph {
  void operator()(hipGraphExec_t graph) const { (void)hipGraphExecDestroy(graph); }
};
using Graph = std::unique_ptr<std::remove_pointer_t<hipGraphExec_t>, DropGraph>;

// A stream, and the events that time it. The program has one.
class Meter {
 public:
  explicit Meter(bool uses_device);
  ~Meter();
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  // Measures work. If a first or second trial takes longer than `give_up_us`, returns its time and
  // measures no further. All PEs call it.
  Timing time(const Work& work, const Effort& wanted,
              double give_up_us = std::numeric_limits<double>::infinity());

  // Returns a graph of `nodes` rounds; null if the clock uses none, or this PE takes no part.
  Graph capture(const Work& work, int nodes);
  // Does `launches` times `nodes` rounds, by the graph of `nodes` rounds if there is one.
  void run(const Work& work, const Graph& graph, int nodes, int launches);
  void finish();  // waits for the stream

 private:
  double time_first(const Work& work);
  double time_run(const Work& work, const Graph& graph, int nodes, int launches);

  bool uses_device_;
  hipStream_t stream_ = nullptr;
  hipEvent_t begin_ = nullptr;
  hipEvent_t end_ = nullptr;
};

}  // namespace meshmem::bench

#endif  // MESHMEM_BENCH_MEASURE_HPP_
