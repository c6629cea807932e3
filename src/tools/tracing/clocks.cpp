// SPDX-License-Identifier: Apache-2.0
//
// PE 0 calls the first PE of each node in turn, which then asks it for the time and takes the
// answer that came fastest. The PEs beside it read what it has found.
#include "tools/tracing/clocks.hpp"

#include <pshmem.h>
#include <pshmemx.h>

#include <cstdlib>

namespace meshmem::tracing {
namespace {

constexpr std::uint64_t kRounds = 16;

struct Words {
  std::uint64_t first;    // of each PE: 1 if it is its node's first
  std::uint64_t asked;    // in PE 0: the round
  std::uint64_t turn;     // in the one who asks: it is called
  std::uint64_t time_ns;  // in the one who asks: PE 0's clock
  std::int64_t offset;    // in a node's first PE: what it has found
};

void answer(Words& words, int pe) {
  words.asked = 0;
  pshmem_uint64_p(&words.turn, 1, pe);
  pshmem_quiet();
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    pshmem_uint64_wait_until(&words.asked, SHMEM_CMP_EQ, round);
    pshmem_uint64_p(&words.time_ns, trace_clock_ns(), pe);
    pshmem_quiet();
  }
}

std::int64_t ask(Words& words) {
  pshmem_uint64_wait_until(&words.turn, SHMEM_CMP_EQ, 1);
  std::int64_t offset = 0, fastest = INT64_MAX;
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    words.time_ns = 0;
    const std::uint64_t begin = trace_clock_ns();
    pshmem_uint64_p(&words.asked, round, 0);
    pshmem_quiet();
    pshmem_uint64_wait_until(&words.time_ns, SHMEM_CMP_NE, 0);
    const auto trip = static_cast<std::int64_t>(trace_clock_ns() - begin);
    if (trip >= fastest) continue;
    fastest = trip;
    offset = static_cast<std::int64_t>(words.time_ns - begin) - trip / 2;
  }
  return std::abs(offset) <= fastest / 2 ? 0 : offset;  // it may be the same clock
}

std::int64_t measure(Words& words, const TraceJob& job) {
  words = {};
  words.first = job.is_first_of_node ? 1 : 0;
  pshmem_team_sync(SHMEM_TEAM_WORLD);
  if (job.pe == 0) {
    for (int pe = 1; pe < job.n_pes; ++pe)
      if (pshmem_uint64_g(&words.first, pe) == 1) answer(words, pe);
  } else if (job.is_first_of_node) {
    words.offset = ask(words);
  }
  pshmem_team_sync(SHMEM_TEAM_WORLD);
  return pshmem_int64_g(&words.offset, job.first_pe_of_node);
}

}  // namespace

ClockOffset measure_clock(const TraceJob& job) {
  ClockOffset found{trace_clock_ns(), 0};
  if (job.n_machines == 1) return found;
  auto* words = static_cast<Words*>(pshmem_malloc_with_hints(sizeof(Words), SHMEMX_MALLOC_HOST));
  if (!words) return found;
  found.offset_ns = measure(*words, job);
  pshmem_free(words);
  return found;
}

}  // namespace meshmem::tracing
