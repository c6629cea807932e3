// SPDX-License-Identifier: Apache-2.0
//
// The comparison, on the host. Invariant: nothing is compared that this reduction has not written.
#include "bench/check.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace meshmem::bench {
namespace {

constexpr int kTimes = 3;
constexpr std::byte kPoison{0xA5};

void copy(const Work& work, void* to, const void* from, std::size_t bytes) {
  if (work.on_device) {
    check(hipMemcpy(to, from, bytes, hipMemcpyDefault), "copy the data");
    check(hipDeviceSynchronize(), "copy the data");
  } else {
    std::memcpy(to, from, bytes);
  }
}

void prepare(const Work& work, unsigned seed) {
  std::vector<std::byte> data(work.bytes() + kGuardBytes, kPoison);
  copy(work, work.dest, data.data(), data.size());
  work.routine->fill(data.data(), work.count, values_of(*work.routine, work.me, work.n, seed));
  copy(work, work.source, data.data(), work.bytes());
}

long compare(const Work& work, unsigned seed) {
  std::vector<std::byte> data(work.bytes() + kGuardBytes);
  copy(work, data.data(), work.dest, data.size());
  const Pattern answers = answers_of(*work.routine, work.n, seed);
  const auto behind = data.end() - static_cast<std::ptrdiff_t>(kGuardBytes);
  return static_cast<long>(work.routine->count_wrong(data.data(), work.count, answers, work.n)) +
         (data.end() - behind) - std::count(behind, data.end(), kPoison);
}

}  // namespace

long count_wrong(Meter& meter, const Work& work) {
  static unsigned seed = 0;
  long wrong = 0;
  hipGraphExec_t graph = work.on_device ? meter.capture(work, 1) : nullptr;
  for (int i = 0; i < kTimes; ++i) {
    ++seed;
    if (work.takes_part()) prepare(work, seed);
    shmem_barrier_all();
    if (work.takes_part()) {
      if (work.on_device) {
        meter.replay(graph, 1);
        meter.finish();
      } else {
        work.routine->on_host(work.team, work.dest, work.source, work.count);
      }
      wrong += compare(work, seed);
    }
    shmem_barrier_all();
  }
  if (graph) check(hipGraphExecDestroy(graph), "drop a graph");
  return add_up(wrong);
}

}  // namespace meshmem::bench
