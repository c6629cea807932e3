// SPDX-License-Identifier: Apache-2.0
//
// The steps of collectives on the host.
#include "lane.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace meshmem::pytorch {

void HostLane::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

// Members also see what this PE has stored in its stage.
void HostLane::meet() { shmem_team_sync(group.team); }

// Two words in turns, as the buffers.
std::size_t HostLane::meet_and_compare(std::size_t value) {
  std::uint64_t* word = &group.control().compared[n_buffers_ % 2];
  *word = value;
  meet();
  std::vector<std::uint64_t> values(group.pes.size());
  for (int rank = 0; rank < group.n(); ++rank)
    shmem_getmem_nbi(&values[static_cast<std::size_t>(rank)], word, sizeof *word, group.pe(rank));
  shmem_quiet();
  return *std::max_element(values.begin(), values.end());
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
