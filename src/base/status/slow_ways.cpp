// SPDX-License-Identifier: Apache-2.0
//
// Counts slow ways, and prints a line for the first of each kind.
// Invariant: without SHMEM_DEBUG it costs one atomic addition.
#include "base/status/slow_ways.hpp"

#include "base/error.hpp"

namespace meshmem {

constinit SlowWayCounts slow_way_counts{};

void note_slow_way(SlowWay kind, const char* routine) {
  const auto index = static_cast<std::size_t>(kind);
  if (slow_way_counts[index].fetch_add(1, std::memory_order_relaxed) != 0) return;
  const SlowWayText& text = kSlowWays[index];
  debug("{} takes a slow way ({}): {}; {}", routine, text.name, text.what, text.help);
}

}  // namespace meshmem
