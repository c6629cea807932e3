// SPDX-License-Identifier: Apache-2.0
//
// meshmem-bench: what an all-reduce takes on this machine, by size, and with --tune the table that
// makes it fast. An ordinary program of the library: only its public API.
// Invariant: the heaps are made large enough before the library starts, unless the environment says
// how large they are. Ends with 1 if a result was wrong.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "base/standard_output.hpp"
#include "bench/check.hpp"
#include "bench/measure.hpp"
#include "bench/options.hpp"
#include "bench/report.hpp"
#include "bench/tune.hpp"

namespace meshmem::bench {
namespace {

constexpr std::size_t kAlignment = 4096;

std::size_t buffer_bytes(const Options& options) {
  return (options.max_bytes + 2 * kGuardBytes + kAlignment - 1) / kAlignment * kAlignment;
}

void ask_for_heap(const Options& options) {
  const std::size_t bytes = 2 * buffer_bytes(options) + (std::size_t{4} << 20);
  setenv(options.on_device ? "MESHMEM_DEVICE_HEAP_SIZE" : "SHMEM_SYMMETRIC_SIZE",
         std::to_string(bytes).c_str(), 0);
}

std::byte* take_buffer(const Options& options) {
  void* memory = shmem_malloc_with_hints(
      buffer_bytes(options), options.on_device ? SHMEMX_MALLOC_DEVICE : SHMEMX_MALLOC_HOST);
  if (!memory)
    fail(
        fmt::format("there is no {} memory for two buffers of {} bytes; lower --max-bytes, or "
                    "raise {}",
                    options.on_device ? "device" : "host", options.max_bytes,
                    options.on_device ? "MESHMEM_DEVICE_HEAP_SIZE" : "SHMEM_SYMMETRIC_SIZE"));
  return static_cast<std::byte*>(memory);
}

shmem_team_t team_of(const Options& options) {
  shmem_team_t team = SHMEM_TEAM_WORLD;
  const int n = shmem_n_pes();
  if (options.even_team)
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, nullptr, 0, &team);
  return team;
}

std::size_t count_for(const Options& options, const Routine& routine, std::size_t bytes) {
  const std::size_t count = std::max<std::size_t>(bytes / routine.elem_bytes, 1);
  return options.count_odd && count > 1 ? count - 1 : count;
}

// The exit status.
int measure(Meter& meter, Work work, const Options& options) {
  Report report(options, work.n, shmem_my_pe() == 0);
  long wrong = 0;
  for (std::size_t bytes = options.min_bytes; bytes <= options.max_bytes; bytes *= 2) {
    work.count = count_for(options, *work.routine, bytes);
    Figure figure{work.bytes(), 0, -1};
    if (options.check) wrong += figure.wrong = count_wrong(meter, work);
    figure.us = meter.time(work, thorough(bytes, options.runs));
    report.add(figure);
  }
  report.close();
  if (wrong > 0 && shmem_my_pe() == 0)
    fmt::print(stderr, "meshmem-bench: {} elements were wrong\n", wrong);
  return wrong > 0 ? 1 : 0;
}

int run(const Options& options) {
  const Routine* routine = find_routine(options.type, options.op);
  std::byte* const source = take_buffer(options);
  std::byte* const dest = options.in_place ? source : take_buffer(options);
  const std::size_t skip = options.misaligned ? routine->elem_bytes : 0;
  const shmem_team_t team = team_of(options);
  const int n = options.even_team ? (shmem_n_pes() + 1) / 2 : shmem_n_pes();
  const Work work{.routine = routine,
                  .team = team,
                  .n = n,
                  .me = shmem_team_my_pe(team),
                  .on_device = options.on_device,
                  .dest = dest + skip,
                  .source = source + skip,
                  .count = 1};
  int status = 0;
  {
    Meter meter(options.on_device);
    if (options.tune) {
      tune(meter, work, options);
    } else {
      status = measure(meter, work, options);
    }
  }
  shmem_barrier_all();
  if (dest != source) shmem_free(dest);
  shmem_free(source);
  return status;
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
