// SPDX-License-Identifier: Apache-2.0
//
// The loop that measures. Invariant: a run does one round before its clock starts, so that the PEs
// start together.
#include "bench/measure.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

namespace meshmem::bench {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
// How much a launch and the host's clock may add to the time of a first trial.
constexpr double kSlackUs = 300;
// These limits matter on the cpu target, where PEs share processors. Without them figures would
// take minutes.
constexpr double kLongestRunUs = 100e3;
constexpr double kLongestGraphUs = 300e3;
// Without a graph, a run of calls that take nanoseconds gets more launches, so that the clock can
// tell how long it takes.
constexpr double kShortestRunUs = 2e3;
constexpr double kMostLaunches = 1e5;

Timing timing_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {agree(values[values.size() / 2]), agree(values.front()), agree(values.back())};
}

double microseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::micro>(now).count();
}

}  // namespace

Effort thorough_effort(std::size_t bytes, int runs) {
  if (bytes <= kMiB) return {5, 50, 10, runs};
  if (bytes <= 4 * kMiB) return {5, 20, 10, runs};
  if (bytes <= 64 * kMiB) return {5, 5, 2, runs};
  return {5, 5, 1, runs};
}

Effort brief_effort(std::size_t bytes) {
  if (bytes <= kMiB) return {1, 20, 2, 1};
  if (bytes <= 16 * kMiB) return {1, 5, 2, 1};
  return {1, 1, 2, 1};
}

Meter::Meter(bool uses_device) : uses_device_(uses_device) {
  if (!uses_device_) return;
  check(hipStreamCreateWithFlags(&stream_, hipStreamNonBlocking), "make a stream");
  check(hipEventCreate(&begin_), "make an event");
  check(hipEventCreate(&end_), "make an event");
}

Meter::~Meter() {
  if (!uses_device_) return;
  (void)hipEventDestroy(end_);
  (void)hipEventDestroy(begin_);
  (void)hipStreamDestroy(stream_);
}

void Meter::finish() {
  if (uses_device_) check(hipStreamSynchronize(stream_), "run the operations");
}

Graph Meter::capture(const Work& work, int nodes) {
  if (!work.takes_part() || work.clock != Clock::graph) return nullptr;
  hipGraph_t graph = nullptr;
  hipGraphExec_t program = nullptr;
  check(hipStreamBeginCapture(stream_, hipStreamCaptureModeThreadLocal), "capture a graph");
  work.run(nodes, stream_);
  check(hipStreamEndCapture(stream_, &graph), "capture a graph");
  check(hipGraphInstantiate(&program, graph, nullptr, nullptr, 0), "make a graph");
  check(hipGraphDestroy(graph), "drop a graph");
  return Graph(program);
}

void Meter::run(const Work& work, const Graph& graph, int nodes, int launches) {
  if (!work.takes_part()) return;
  if (!graph) return work.run(nodes * launches, stream_);
  for (int i = 0; i < launches; ++i) check(hipGraphLaunch(graph.get(), stream_), "launch a graph");
}

double Meter::time_run(const Work& work, const Graph& graph, int nodes, int launches) {
  shmem_barrier_all();
  if (!work.takes_part()) return 0;
  work.run(1, stream_);
  double us = 0;
  if (work.clock == Clock::host) {
    const double begin = microseconds();
    run(work, graph, nodes, launches);
    us = microseconds() - begin;
  } else {
    float ms = 0;
    check(hipEventRecord(begin_, stream_), "record an event");
    run(work, graph, nodes, launches);
    check(hipEventRecord(end_, stream_), "record an event");
    check(hipEventSynchronize(end_), "run the operations");
    check(hipEventElapsedTime(&ms, begin_, end_), "read the device's clock");
    us = static_cast<double>(ms) * 1e3;
  }
  return us / (static_cast<double>(nodes) * launches * work.operations_of_round);
}

double Meter::time_first(const Work& work) {
  shmem_barrier_all();
  const double begin = microseconds();
  if (work.takes_part()) work.run(1, stream_);
  finish();
  return (microseconds() - begin) / work.operations_of_round;
}

Timing Meter::time(const Work& work, const Effort& wanted, double give_up_us) {
  double first_us = agree(time_first(work));
  if (first_us > give_up_us + kSlackUs) return {first_us, first_us, first_us};
  Effort effort = wanted;
  const double longest_us = kLongestGraphUs / work.operations_of_round;
  if (!effort.is_fixed && first_us * effort.nodes > longest_us) {
    first_us = agree(time_first(work));  // again: the first call in a program takes longer
    effort.nodes = std::clamp(static_cast<int>(longest_us / first_us), 1, wanted.nodes);
  }
  if (effort.warm_ups > 1 && work.takes_part()) work.run(effort.warm_ups - 1, stream_);
  finish();  // making a graph may wait for work that runs
  const Graph graph = capture(work, effort.nodes);
  if (graph) run(work, graph, effort.nodes, 1);  // a graph's first launch takes longer
  finish();
  const double us = agree(time_run(work, graph, effort.nodes, 1));
  Timing found{us, us, us};
  if (us <= give_up_us) {
    const double replay_us = std::max(us * effort.nodes * work.operations_of_round, 1e-3);
    double launches = effort.launches;
    if (!effort.is_fixed) {
      if (work.clock != Clock::graph)
        launches = std::clamp(kShortestRunUs / replay_us, launches, kMostLaunches);
      launches = std::clamp(kLongestRunUs / replay_us, 1.0, launches);
    }
    std::vector<double> runs;
    for (int i = 0; i < effort.runs; ++i)
      runs.push_back(time_run(work, graph, effort.nodes, static_cast<int>(launches)));
    found = timing_of(std::move(runs));
  }
  return found;
}

}  // namespace meshmem::bench
