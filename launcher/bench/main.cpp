// SPDX-License-Identifier: Apache-2.0
//
// meshmem-bench measures how long operations take, by size. With --tune it finds the fastest plans
// of an all-reduce. It calls the library only by its public API.
// Invariant: before the library starts, main() asks for a heap that is large enough, unless the
// environment has a size for it. Ends with 1 if a result was wrong.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "base/machine/standard_descriptors.hpp"
#include "bench/measure.hpp"
#include "bench/options.hpp"
#include "bench/report.hpp"
#include "bench/trial.hpp"

namespace meshmem::bench {
namespace {

// Before shmem_init, the number of PEs is known only under oshrun. Under other launchers this
// number is assumed. If there are more PEs, the largest sizes may not fit.
constexpr int kExpectedPes = 16;
constexpr std::size_t kOtherBytes = std::size_t{4} << 20;  // for the signal, names and so on

void ask_for_heap(const Options& options) {
  std::size_t bytes = std::size_t{256} << 20;
  const char* const pes_text = std::getenv("MESHMEM_OSHRUN_PES");
  const int pes = pes_text ? std::atoi(pes_text) : kExpectedPes;
  for (const Operation* operation : options.operations) {
    const Case largest{*operation, 0, pes, 0, options.max_bytes, 1, 0};
    bytes = std::max(bytes, buffer_bytes(source_bytes(largest)) +
                                buffer_bytes(dest_bytes(largest)) + kOtherBytes);
  }
  setenv(options.on_device ? "MESHMEM_DEVICE_HEAP_SIZE" : "SHMEM_SYMMETRIC_SIZE",
         std::to_string(bytes).c_str(), 0);
}

int peer_of(const Options& options) {
  const int n = shmem_n_pes();
  if (options.peer.empty()) return n > 1 ? 1 : 0;
  const bool is_far = options.peer == "far";
  if (!is_far && options.peer != "near") {
    const int peer = std::stoi(options.peer);
    if (peer >= n) fail(fmt::format("there is no PE {} in a job of {}", peer, n));
    return peer;
  }
  const int peer = find_peer(is_far);
  if (peer < 0) fail(fmt::format("no PE is {} PE 0", is_far ? "far from" : "near"));
  return peer;
}

Effort effort_for(const Options& options, std::size_t bytes) {
  if (options.iterations == 0) return thorough_effort(bytes, options.runs);
  return {1, options.iterations, 1, options.runs, true};
}

// Returns how many elements or bytes were wrong.
long measure(Meter& meter, const Operation& operation, const Options& options, int peer,
             Report& report) {
  Trial trial(operation, options, peer);
  report.begin(operation, trial.n_pes(), operation.who == Who::all ? -1 : peer);
  long wrong = 0;
  const bool has_sizes = operation.has_sizes();
  for (std::size_t bytes = has_sizes ? options.min_bytes : sizeof(long);
       bytes <= (has_sizes ? options.max_bytes : sizeof(long)); bytes *= 2) {
    const std::size_t size = trial.resize(bytes);
    Figure figure{size, {}, trial.count_wrong(meter)};
    wrong += figure.wrong;
    figure.us = meter.time(trial.work(), effort_for(options, bytes));
    report.add(figure);
  }
  return wrong;
}

// Returns the exit status.
int run(const Options& options) {
  Meter meter(options.on_device || options.caller != Caller::host);
  const int peer = peer_of(options);
  if (options.tune) {
    Trial trial(*options.operations[0], options, peer);
    tune(meter, trial, options);
    return 0;
  }
  Report report(options, describe_nodes(), shmem_my_pe() == 0);
  long wrong = 0;
  for (const Operation* operation : options.operations)
    wrong += measure(meter, *operation, options, peer, report);
  report.close();
  if (wrong > 0 && shmem_my_pe() == 0)
    fmt::print(stderr, "meshmem-bench: {} elements were wrong\n", wrong);
  return wrong > 0 ? 1 : 0;
}

}  // namespace
}  // namespace meshmem::bench

int main(int argc, char** argv) {
  using namespace meshmem::bench;
  try {
    int status = 0;
    const auto options = parse_options(argc, argv, status);
    if (!options) return meshmem::close_standard_output("meshmem-bench", status);
    ask_for_heap(*options);
    shmem_init();
    status = run(*options);
    shmem_finalize();
    return meshmem::close_standard_output("meshmem-bench", status);
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "meshmem-bench: cannot go on: %s\n", exception.what());
    return 1;
  }
}
