// SPDX-License-Identifier: Apache-2.0
//
// meshmem-bench: what operations take, by size, and with --tune the table that makes all-reduces
// fast. An ordinary program of the library: only its public API.
// Invariant: the heaps are made large enough before the library starts, unless the environment says
// how large they are. Ends with 1 if a result was wrong.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "base/machine/standard_descriptors.hpp"
#include "bench/measure.hpp"
#include "bench/options.hpp"
#include "bench/progress.hpp"
#include "bench/reduction.hpp"
#include "bench/report.hpp"
#include "bench/trial.hpp"
#include "bench/tune.hpp"

namespace meshmem::bench {
namespace {

// Before the library runs oshrun alone says how many PEs there are; with more, sizes may not fit.
constexpr std::size_t kExpectedPes = 16;
constexpr std::size_t kForTheRest = std::size_t{4} << 20;

bool has_strides(const Options& options) {
  return std::any_of(
      options.operations.begin(), options.operations.end(),
      [](const Operation* operation) { return operation->answer == Answer::alltoalls; });
}

void ask_for_heap(const Options& options) {
  std::size_t bytes = 2 * buffer_bytes(options.max_bytes) + kForTheRest;
  if (!options.is_reduction()) {
    const std::size_t usual = std::size_t{256} << 20;
    const char* const said = std::getenv("MESHMEM_OSHRUN_PES");
    const std::size_t pes = said ? std::strtoul(said, nullptr, 10) : kExpectedPes;
    const std::size_t blocks = has_strides(options) ? pes * kStride : pes;
    bytes = std::max(usual, 2 * blocks * buffer_bytes(options.max_bytes) + kForTheRest);
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
  if (options.iterations == 0) return thorough(bytes, options.runs);
  return {1, options.iterations, 1, options.runs, true};
}

bool has_sizes(const Operation& operation) {
  return operation.size == Size::bytes || operation.size == Size::floats;
}

int count_figures(const Options& options) {
  int sizes = 0, figures = 0;
  for (std::size_t bytes = options.min_bytes; bytes <= options.max_bytes; bytes *= 2) ++sizes;
  for (const Operation* operation : options.operations)
    figures += has_sizes(*operation) ? sizes : 1;
  return figures;
}

// Elements that were wrong. Without --check the first size alone is compared.
long measure_reductions(Meter& meter, Reduction& reduction, const Options& options, Report& report,
                        Progress& progress) {
  report.begin({options.operations[0], reduction.n, -1, true});
  long wrong = 0;
  for (std::size_t bytes = options.min_bytes; bytes <= options.max_bytes; bytes *= 2) {
    progress.begin(fmt::format("allreduce {}", short_size(bytes)));
    reduction.count = count_for(options, *reduction.routine, bytes);
    Figure figure{reduction.bytes(), {}, -1};
    if (options.check || bytes == options.min_bytes) {
      figure.wrong = count_wrong(meter, reduction);
      wrong += figure.wrong;
      if (!options.check) figure.wrong = -1;
    }
    figure.us = meter.time(work_of(reduction), effort_for(options, bytes));
    progress.end();
    report.add(figure);
  }
  return wrong;
}

long reductions(Meter& meter, const Options& options, Report* report, Progress* progress) {
  Reduction reduction = make_reduction(options);
  long wrong = 0;
  if (options.tune) {
    tune(meter, reduction, options);
  } else {
    wrong = measure_reductions(meter, reduction, options, *report, *progress);
  }
  free_buffers(reduction);
  return wrong;
}

// Elements that were wrong.
long measure(Meter& meter, const Operation& operation, const Options& options, int peer,
             Report& report, Progress& progress) {
  report.begin({&operation, shmem_n_pes(), operation.who == Who::all ? -1 : peer, false});
  Trial trial(operation, options, peer);
  long wrong = 0;
  const std::size_t only = operation.size == Size::word ? sizeof(long) : 0;
  const std::size_t first = has_sizes(operation) ? options.min_bytes : only;
  const std::size_t last = has_sizes(operation) ? options.max_bytes : only;
  for (std::size_t bytes = first; bytes <= last; bytes *= 2) {
    progress.begin(fmt::format("{} {}", operation.name, short_size(bytes)));
    Figure figure{trial.resize(bytes), {}, trial.count_wrong(meter)};
    wrong += figure.wrong;
    figure.us = meter.time(trial.work(), effort_for(options, bytes));
    progress.end();
    report.add(figure);
    if (!has_sizes(operation)) break;
  }
  return wrong;
}

// The exit status.
int run(const Options& options) {
  Meter meter(options.on_device || options.caller != Caller::host);
  if (options.tune) return static_cast<int>(reductions(meter, options, nullptr, nullptr));
  const int peer = peer_of(options);
  Report report(options, describe_nodes(), shmem_my_pe() == 0);
  Progress progress(shmem_my_pe() == 0, count_figures(options));
  long wrong = 0;
  if (options.is_reduction()) {
    wrong = reductions(meter, options, &report, &progress);
  } else {
    for (const Operation* operation : options.operations)
      wrong += measure(meter, *operation, options, peer, report, progress);
  }
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
