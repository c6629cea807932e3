// SPDX-License-Identifier: Apache-2.0
//
// Measures how long one operation takes, by the one loop that all measurements use. A *round* is
// one repetition of the work. On a stream rounds are captured into a graph, which is replayed
// between two events of the device. A kernel does all its rounds in one launch between two events.
// Calls of the host are timed by the host's clock.
// Invariant: all PEs get PE 0's figure, so they all decide alike.
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
  host,    // for calls that have done their work when they return
  stream,  // for work that is put on the stream
  graph    // for work that is put on the stream, whose rounds are captured and replayed
};

struct Work {
  // Does `rounds` rounds, or puts them on the stream. Empty: this PE does no work. It only takes
  // part in the barriers, and gets PE 0's figure.
  std::function<void(int rounds, hipStream_t stream)> run;
  Clock clock = Clock::host;
  int operations_of_round = 1;

  bool takes_part() const { return static_cast<bool>(run); }
};

struct Effort {
  int warm_ups;           // rounds before the graph is made
  int nodes;              // rounds in the graph
  int launches;           // launches of the graph in a run
  int runs;               // runs, whose median is the figure
  bool is_fixed = false;  // do exactly these, however long that takes
};
Effort thorough_effort(std::size_t bytes, int runs);  // for a figure that is printed
Effort brief_effort(std::size_t bytes);               // for a first comparison of plans

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

  // Measures the work. If one of two short trials takes longer than `give_up_us`, returns its time
  // and does no runs. All PEs call it.
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
