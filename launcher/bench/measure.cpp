// SPDX-License-Identifier: Apache-2.0
//
// The loop. Invariant: a run begins with one operation before the clock, which lines the PEs up.
#include "bench/measure.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

namespace meshmem::bench {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
// Of a stream and a clock of the host, in a first look.
constexpr double kSlackUs = 300;
// GPUs never reach it; processors in their place, which PEs share, would take minutes.
constexpr double kLongestRunUs = 100e3;
constexpr double kLongestGraphUs = 300e3;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double microseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
      .count();
}

}  // namespace

Effort thorough(std::size_t bytes, int runs) {
  if (bytes <= kMiB) return {5, 50, 10, runs};
  if (bytes <= 4 * kMiB) return {5, 20, 10, runs};
  if (bytes <= 64 * kMiB) return {5, 5, 2, runs};
  return {5, 2, 2, runs};
}

Effort brief(std::size_t bytes) {
  if (bytes <= kMiB) return {1, 20, 2, 1};
  if (bytes <= 16 * kMiB) return {1, 5, 2, 1};
  return {1, 1, 2, 1};
}

Meter::Meter(bool on_device) : on_device_(on_device) {
  if (!on_device) return;
  check(hipStreamCreateWithFlags(&stream_, hipStreamNonBlocking), "make a stream");
  check(hipEventCreate(&begin_), "make an event");
  check(hipEventCreate(&end_), "make an event");
}

Meter::~Meter() {
  if (!on_device_) return;
  (void)hipEventDestroy(end_);
  (void)hipEventDestroy(begin_);
  (void)hipStreamDestroy(stream_);
}

void Meter::call(const Work& work) {
  const int failed =
      work.on_device
          ? work.routine->on_stream(work.team, work.dest, work.source, work.count, stream_)
          : work.routine->on_host(work.team, work.dest, work.source, work.count);
  if (failed != 0) fail(fmt::format("a reduction of {} elements has failed", work.count));
}

void Meter::finish() {
  if (on_device_) check(hipStreamSynchronize(stream_), "run the reductions");
}

hipGraphExec_t Meter::capture(const Work& work, int nodes) {
  if (!work.takes_part()) return nullptr;
  hipGraph_t graph = nullptr;
  hipGraphExec_t program = nullptr;
  check(hipStreamBeginCapture(stream_, hipStreamCaptureModeThreadLocal), "capture a graph");
  for (int i = 0; i < nodes; ++i) call(work);
  check(hipStreamEndCapture(stream_, &graph), "capture a graph");
  check(hipGraphInstantiate(&program, graph, nullptr, nullptr, 0), "make a graph");
  check(hipGraphDestroy(graph), "drop a graph");
  return program;
}

void Meter::replay(hipGraphExec_t graph, int launches) {
  if (!graph) return;
  for (int i = 0; i < launches; ++i) check(hipGraphLaunch(graph, stream_), "launch a graph");
}

double Meter::time_replays(const Work& work, hipGraphExec_t graph, const Effort& effort) {
  shmem_barrier_all();
  if (!work.takes_part()) return 0;
  call(work);
  check(hipEventRecord(begin_, stream_), "record an event");
  replay(graph, effort.launches);
  check(hipEventRecord(end_, stream_), "record an event");
  check(hipEventSynchronize(end_), "run the reductions");
  float ms = 0;
  check(hipEventElapsedTime(&ms, begin_, end_), "read the device's clock");
  return static_cast<double>(ms) * 1e3 / (effort.nodes * effort.launches);
}

double Meter::time_calls(const Work& work, const Effort& effort) {
  shmem_barrier_all();
  if (!work.takes_part()) return 0;
  call(work);
  const int calls = effort.nodes * effort.launches;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) call(work);
  return microseconds_since(begin) / calls;
}

double Meter::time_first(const Work& work) {
  shmem_barrier_all();
  const auto begin = std::chrono::steady_clock::now();
  if (work.takes_part()) call(work);
  finish();
  return microseconds_since(begin);
}

double Meter::time(const Work& work, const Effort& wanted, double give_up_us) {
  double first_us = agree(time_first(work));
  if (first_us > give_up_us + kSlackUs) return first_us;
  Effort effort = wanted;
  if (first_us * effort.nodes > kLongestGraphUs) {
    first_us = agree(time_first(work));  // once more: the very first of a program is no measure
    effort.nodes = std::clamp(static_cast<int>(kLongestGraphUs / first_us), 1, wanted.nodes);
  }
  for (int i = 1; i < effort.warm_ups && work.takes_part(); ++i) call(work);
  finish();  // making a graph may wait for what runs
  hipGraphExec_t graph = on_device_ ? capture(work, effort.nodes) : nullptr;
  replay(graph, 1);  // its first time takes longer
  finish();
  const auto run = [&](int launches) {
    const Effort once{0, effort.nodes, launches, 1};
    return on_device_ ? time_replays(work, graph, once) : time_calls(work, once);
  };
  double us = agree(run(1));
  if (us <= give_up_us) {
    const double most = kLongestRunUs / std::max(us * effort.nodes, 1e-3);
    const int launches = std::clamp(static_cast<int>(std::min(most, 1e6)), 1, effort.launches);
    std::vector<double> found;
    for (int i = 0; i < effort.runs; ++i) found.push_back(run(launches));
    us = agree(median(found));
  }
  if (graph) check(hipGraphExecDestroy(graph), "drop a graph");
  return us;
}

}  // namespace meshmem::bench
