// SPDX-License-Identifier: Apache-2.0
//
// The tables, and the choice.
// Invariant: the last row of a table is for everything.
#include "collectives/device_plans.hpp"

#include <algorithm>
#include <span>

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
constexpr int kLanes = 32;

using enum device::ReduceAlgorithm;
#if defined(MESHMEM_TARGET_CUDA)
// Measured on 2 and on 4 H200 behind switches (docs/measurements). Around a ring no two PEs send to the same
// one at a time, which is what the switches carry most of.
constexpr Row kGpuRows[] = {
    {1 << 10, kAnyPes, {one_shot, 1, 128}},         {2 << 10, kAnyPes, {one_shot, 2, 128}},
    {4 << 10, kAnyPes, {one_shot, 4, 128}},         {8 << 10, kAnyPes, {one_shot, 8, 128}},
    {16 << 10, kAnyPes, {one_shot, 16, 128}},       {32 << 10, kAnyPes, {one_shot_wide, 32, 128}},
    {64 << 10, kAnyPes, {one_shot_wide, 64, 128}},  {128 << 10, kAnyPes, {one_shot_wide, 64, 256}},
    {512 << 10, 2, {one_shot_wide, 64, 512}},       {1 << 20, 2, {two_shot_wide, 64, 256}},
    {2 << 20, 2, {two_shot_wide, 64, 512}},         {8 << 20, 2, {direct, 128, 512}},
    {512 << 10, kAnyPes, {two_shot_wide, 64, 256}}, {1 << 20, kAnyPes, {two_shot_wide, 64, 512}},
    {4 << 20, kAnyPes, {direct, 64, 512}},          {8 << 20, kAnyPes, {direct, 128, 512}},
    {kAnySize, kAnyPes, {ring, 128, 512}},
};
#else
// Computed for GPUs that have a link to each other one, from the rates of the links; never measured.
constexpr Row kGpuRows[] = {
    {1 << 10, kAnyPes, {one_shot, 1, 128}},   {4 << 10, kAnyPes, {one_shot, 4, 128}},
    {32 << 10, kAnyPes, {one_shot, 16, 256}}, {1 << 20, kAnyPes, {two_shot, 64, 256}},
    {kAnySize, kAnyPes, {direct, 64, 512}},
};
#endif
// Threads take turns there, and so do blocks, on processors that PEs share.
constexpr Row kProcessorRows[] = {
    {16 << 10, kAnyPes, {one_shot, 1, 64}},
    {64 << 10, kAnyPes, {two_shot, 1, 64}},
    {kAnySize, kAnyPes, {two_shot, 2, 64}},
};
constexpr std::span<const Row> kRows =
    kDevicesAreProcessors ? std::span<const Row>(kProcessorRows) : std::span<const Row>(kGpuRows);

// For one that is forced.
device::ReduceAlgorithm of_kernels(ReduceAlgorithm algorithm) {
  switch (algorithm) {
    case ReduceAlgorithm::one_shot:
      return one_shot;
    case ReduceAlgorithm::recursive_doubling:
      return recursive_doubling;
    case ReduceAlgorithm::ring:
      return ring;
    case ReduceAlgorithm::direct:
      return direct;
    case ReduceAlgorithm::one_shot_wide:
      return one_shot_wide;
    case ReduceAlgorithm::two_shot_wide:
      return two_shot_wide;
    default:
      return two_shot;
  }
}

}  // namespace

device::Plan plan_for(std::size_t bytes, int n_pes) {
  for (const Row& row : kRows) {
    if (bytes <= row.max_bytes && n_pes <= row.max_pes) return row.plan;
  }
  return kRows.back().plan;
}

std::size_t one_shot_max_bytes(const ReductionChoice& choice, int n_pes) {
  if (choice.forced == ReduceAlgorithm::one_shot) return kAnySize;
  if (choice.forced == ReduceAlgorithm::two_shot) return 0;
  std::size_t most = 0;
  for (const Row& row : kRows) {
    if (n_pes <= row.max_pes && row.plan.algorithm == one_shot) most = row.max_bytes;
  }
  return most;
}

device::Plan choose_plan(const ReductionChoice& choice, std::size_t bytes, int n_pes,
                         int channels) {
  device::Plan plan = plan_for(bytes, n_pes);
  if (const auto forced = forced_algorithm(choice, bytes)) plan.algorithm = of_kernels(*forced);
  const auto at_most = [](std::optional<unsigned> forced, int otherwise, int most) {
    if (!forced) return std::min(otherwise, most);
    return static_cast<int>(std::clamp(*forced, 1u, static_cast<unsigned>(most)));
  };
  plan.blocks = at_most(choice.device_blocks, plan.blocks, channels);
  plan.threads = at_most(choice.device_threads, plan.threads, kMostThreads);
  // Wide lines are carried by whole waves.
  if (plan.algorithm == one_shot_wide || plan.algorithm == two_shot_wide)
    plan.threads = (plan.threads + kLanes - 1) / kLanes * kLanes;
  return plan;
}

}  // namespace meshmem
