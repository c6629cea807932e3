// SPDX-License-Identifier: Apache-2.0
//
// The steps of collectives on the host.
#include "lane.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

namespace meshmem::pytorch {
namespace {

constexpr std::size_t kWorthMeeting = std::size_t{1} << 20;

}  // namespace

void HostLane::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

// Members also see what this PE has stored in its stage.
void HostLane::meet() { shmem_team_sync(group.team); }

HostLane::Range HostLane::meet_and_find_range(std::int64_t value) {
  std::int64_t* word = &group.control().compared[n_comparisons_++ % 2];
  *word = value;
  meet();
  std::vector<std::int64_t> values(group.pes.size());
  for (int rank = 0; rank < group.n(); ++rank)
    shmem_getmem_nbi(&values[static_cast<std::size_t>(rank)], word, sizeof *word, group.pe(rank));
  shmem_quiet();
  const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
  return {*highest, *lowest};
}

std::size_t HostLane::meet_and_compare(std::size_t value) {
  return static_cast<std::size_t>(meet_and_find_range(static_cast<std::int64_t>(value)).highest);
}

// Small tensors are copied in less time than a meeting takes.
bool HostLane::is_same_on_all(const void* data, std::size_t bytes) {
  if (bytes < kWorthMeeting || group.n() == 1) return false;
  std::int64_t distance = std::numeric_limits<std::int64_t>::min();
  if (shmem_addr_accessible(data, group.pe(group.me)))
    distance = static_cast<const char*>(data) - group.stage;
  const Range range = meet_and_find_range(distance);
  return range.lowest == range.highest && range.lowest != std::numeric_limits<std::int64_t>::min();
}

void HostLane::get(void* to, const void* there, std::size_t bytes, int rank) {
  shmem_getmem_nbi(to, there, bytes, group.pe(rank));
}

void HostLane::finish_gets() { shmem_quiet(); }

void HostLane::reduce(const Reduction& reduction, void* buffer, std::size_t n) {
  reduction.reduce(group.team, buffer, buffer, n);
}

void HostLane::reduce_scatter(const Reduction& reduction, void* buffer, std::size_t n) {
  const auto blocks = static_cast<std::size_t>(group.n()), me = static_cast<std::size_t>(group.me);
  if (!reduction.reduce_scatter) return reduce(reduction, buffer, n * blocks);
  char* mine = static_cast<char*>(buffer) + me * n * reduction.staged_bytes;
  reduction.reduce_scatter(group.team, mine, buffer, n);
}

}  // namespace meshmem::pytorch
