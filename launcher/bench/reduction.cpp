// SPDX-License-Identifier: Apache-2.0
//
// Reductions, and the comparison, on the host.
// Invariant: nothing is compared that this reduction has not written.
#include "bench/reduction.hpp"

#include <algorithm>
#include <vector>

namespace meshmem::bench {
namespace {

constexpr int kTimes = 3;

void prepare(const Reduction& reduction, unsigned seed) {
  std::vector<std::byte> data(reduction.bytes() + kGuardBytes, kPoison);
  copy(reduction.dest, data.data(), data.size(), reduction.on_device);
  const Routine& routine = *reduction.routine;
  routine.fill(data.data(), reduction.count, values_of(routine, reduction.me, reduction.n, seed));
  copy(reduction.source, data.data(), reduction.bytes(), reduction.on_device);
}

long compare(const Reduction& reduction, unsigned seed) {
  std::vector<std::byte> data(reduction.bytes() + kGuardBytes);
  copy(data.data(), reduction.dest, data.size(), reduction.on_device);
  const Routine& routine = *reduction.routine;
  const Pattern answers = answers_of(routine, reduction.n, seed);
  const auto behind = data.end() - static_cast<std::ptrdiff_t>(kGuardBytes);
  return static_cast<long>(
             routine.count_wrong(data.data(), reduction.count, answers, reduction.n)) +
         (data.end() - behind) - std::count(behind, data.end(), kPoison);
}

shmem_team_t team_of(const Options& options) {
  shmem_team_t team = SHMEM_TEAM_WORLD;
  const int n = shmem_n_pes();
  if (options.even_team)
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, nullptr, 0, &team);
  return team;
}

}  // namespace

Work work_of(const Reduction& reduction) {
  Work work;
  work.clock = reduction.on_stream ? Clock::graph : Clock::host;
  if (reduction.team == SHMEM_TEAM_INVALID) return work;
  work.run = [&reduction](int rounds, hipStream_t stream) {
    const Routine& routine = *reduction.routine;
    for (int i = 0; i < rounds; ++i) {
      const int failed =
          reduction.on_stream
              ? routine.on_stream(reduction.team, reduction.dest, reduction.source, reduction.count,
                                  stream)
              : routine.on_host(reduction.team, reduction.dest, reduction.source, reduction.count);
      if (failed != 0) fail(fmt::format("a reduction of {} elements has failed", reduction.count));
    }
  };
  return work;
}

Reduction make_reduction(const Options& options) {
  const Routine* const routine = find_routine(options.type, options.op);
  auto* const source = static_cast<std::byte*>(take_buffer(options.max_bytes, options.on_device));
  auto* const dest =
      options.in_place ? source
                       : static_cast<std::byte*>(take_buffer(options.max_bytes, options.on_device));
  const std::size_t skip = options.misaligned ? routine->elem_bytes : 0;
  const shmem_team_t team = team_of(options);
  return {.routine = routine,
          .team = team,
          .n = options.even_team ? (shmem_n_pes() + 1) / 2 : shmem_n_pes(),
          .me = shmem_team_my_pe(team),
          .on_stream = options.caller == Caller::stream,
          .on_device = options.on_device,
          .dest = dest + skip,
          .source = source + skip,
          .count = 1,
          .dest_buffer = dest,
          .source_buffer = source};
}

void free_buffers(const Reduction& reduction) {
  shmem_barrier_all();
  if (reduction.dest_buffer != reduction.source_buffer) shmem_free(reduction.dest_buffer);
  shmem_free(reduction.source_buffer);
}

std::size_t count_for(const Options& options, const Routine& routine, std::size_t bytes) {
  const std::size_t count = std::max<std::size_t>(bytes / routine.elem_bytes, 1);
  return options.count_odd && count > 1 ? count - 1 : count;
}

long count_wrong(Meter& meter, const Reduction& reduction) {
  static unsigned seed = 0;
  long wrong = 0;
  const Work work = work_of(reduction);
  hipGraphExec_t graph = meter.capture(work, 1);
  for (int i = 0; i < kTimes; ++i) {
    ++seed;
    if (work.takes_part()) prepare(reduction, seed);
    shmem_barrier_all();
    if (work.takes_part()) {
      if (graph) {
        meter.replay(graph, 1);
        meter.finish();
      } else {
        work.run(1, nullptr);
      }
      wrong += compare(reduction, seed);
    }
    shmem_barrier_all();
  }
  if (graph) check(hipGraphExecDestroy(graph), "drop a graph");
  return add_up(wrong);
}

}  // namespace meshmem::bench
