// SPDX-License-Identifier: Apache-2.0
//
// The tables, and the choice.
// Invariant: the last row of a table is for everything.
#include "collectives/device_plans.hpp"

#include <algorithm>

#include "memory/device_target.hpp"

namespace meshmem {
namespace {

// The first row that fits.
struct Row {
  std::size_t max_bytes;
  int max_pes;
  device::Plan plan;
};
constexpr std::size_t kAnySize = ~std::size_t{0};
constexpr int kAnyPes = 1 << 30;
constexpr int kMostThreads = 512;

constexpr Row kGpuRows[] = {
    {16 << 10, kAnyPes, {1, 512}}, {64 << 10, kAnyPes, {4, 512}},  {256 << 10, kAnyPes, {16, 512}},
    {1 << 20, kAnyPes, {32, 512}}, {kAnySize, kAnyPes, {64, 512}},
};
// Threads take turns there, and so do blocks, on processors that PEs share.
constexpr Row kProcessorRows[] = {
    {64 << 10, kAnyPes, {1, 64}},
    {kAnySize, kAnyPes, {2, 64}},
};

}  // namespace

device::Plan plan_for(std::size_t bytes, int n_pes) {
  const auto find = [&](const auto& rows) {
    for (const Row& row : rows) {
      if (bytes <= row.max_bytes && n_pes <= row.max_pes) return row.plan;
    }
    return std::end(rows)[-1].plan;
  };
  return kDevicesAreProcessors ? find(kProcessorRows) : find(kGpuRows);
}

device::Plan choose_plan(const ReductionChoice& choice, std::size_t bytes, int n_pes,
                         int channels) {
  device::Plan plan = plan_for(bytes, n_pes);
  const auto at_most = [](std::optional<unsigned> forced, int otherwise, int most) {
    if (!forced) return std::min(otherwise, most);
    return static_cast<int>(std::clamp(*forced, 1u, static_cast<unsigned>(most)));
  };
  plan.blocks = at_most(choice.device_blocks, plan.blocks, channels);
  plan.threads = at_most(choice.device_threads, plan.threads, kMostThreads);
  return plan;
}

}  // namespace meshmem
