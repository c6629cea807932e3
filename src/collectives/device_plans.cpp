// SPDX-License-Identifier: Apache-2.0
//
// The tables, and the choice.
// Invariant: the last row of a built-in table is for everything.
//
// Rows that `meshmem-bench --tune --out FILE` has found become rows here by
//   sed -nE 's/^([0-9]+)K /\1 << 10 /;s/^([0-9]+)M /\1 << 20 /;s/^([0-9]+)G /\1 << 30 /;
//            s/^any /kAnySize /;
//            s/^(.+) (any|[0-9]+) (\w+) ([0-9]+) ([0-9]+)$/    {\1, \2, {\3, \4, \5}},/p' FILE
#include "collectives/device_plans.hpp"

#include <algorithm>
#include <atomic>
#include <span>
#include <utility>

#include "collectives/plan_text.hpp"
#include "gpu/device_target.hpp"

namespace meshmem {

static_assert(kMostReduceBlocks == device::kChannels);
static_assert(kMostReduceThreads == device::kMostThreadsOfTwoShotWide);
static_assert(kMostThreadsOfOthers == device::kMostThreads);

namespace {

using Row = PlanRow;
constexpr int kLanes = 32;

using enum device::ReduceAlgorithm;
// NVIDIA, measured on 2 and 4 H200 behind switches; 576 threads on 2, whose blocks have as many lines.
// Around a ring no two PEs send to the same one at a time, which is what the switches carry most of. Copy
// engines carry more than stores of kernels do, and begin 30 us later.
constexpr Row kGpuRows[] = {
    {256, kAnyPes, {one_shot, 1, 64}},
    {512, kAnyPes, {one_shot, 1, 128}},
    {1 << 10, kAnyPes, {one_shot, 1, 256}},
    {2 << 10, kAnyPes, {one_shot, 2, 256}},
    {4 << 10, kAnyPes, {one_shot, 4, 256}},
    {8 << 10, kAnyPes, {one_shot, 8, 256}},
    {16 << 10, kAnyPes, {one_shot, 16, 256}},
    {32 << 10, kAnyPes, {one_shot, 32, 256}},
    {64 << 10, 2, {one_shot, 64, 256}},
    {128 << 10, 2, {one_shot_wide, 64, 256}},
    {256 << 10, 2, {one_shot_wide, 64, 512}},
    {512 << 10, 2, {one_shot_wide, 128, 512}},
    {1 << 20, 2, {two_shot_wide, 128, 512}},
    {4 << 20, 2, {two_shot_wide, 128, 576}},
    {8 << 20, 2, {ring, 64, 256}},
    {64 << 10, kAnyPes, {one_shot_wide, 64, 128}},
    {128 << 10, kAnyPes, {one_shot_wide, 64, 256}},
    {256 << 10, kAnyPes, {one_shot_wide, 64, 512}},
    {512 << 10, kAnyPes, {two_shot_wide, 128, 128}},
    {1 << 20, kAnyPes, {two_shot_wide, 64, 512}},
    {4 << 20, kAnyPes, {two_shot_wide, 128, 576}},
    {8 << 20, kAnyPes, {direct, 128, 128}},
    {32 << 20, kAnyPes, {ring, 128, 256}},
    {128 << 20, kAnyPes, {ring, 128, 512}},
    {kAnySize, kAnyPes, {ring_and_copies, 128, 512}},
};
// AMD, gfx90a and gfx942, each PE with a link to each other one: computed from the rates of links.
// Nothing has been measured there.
constexpr Row kAmdRows[] = {
    {1 << 10, kAnyPes, {one_shot, 1, 128}},   {4 << 10, kAnyPes, {one_shot, 4, 128}},
    {32 << 10, kAnyPes, {one_shot, 16, 256}}, {1 << 20, kAnyPes, {two_shot, 64, 256}},
    {kAnySize, kAnyPes, {direct, 64, 512}},
};
// Processors: one thread of one block, since threads take turns there, and blocks on the processors that
// PEs share. Measured with 2, 3, 4 and 8 PEs on 2 cores: packets, which are handled twice, win for a few
// lines only; the ring copies fastest, but each of its steps awaits another PE, which costs nothing as long
// as that one has a core.
constexpr Row kProcessorRows[] = {
    {256, kAnyPes, {one_shot, 1, 1}},
    {kAnySize, 2, {ring, 1, 1}},
    {kAnySize, kAnyPes, {pull, 1, 1}},
};
constexpr std::span<const Row> kRows = kDevicesAreProcessors ? std::span<const Row>(kProcessorRows)
                                       : kDevicesAreAmd      ? std::span<const Row>(kAmdRows)
                                                             : std::span<const Row>(kGpuRows);

std::vector<Row> tuned_rows;                // MESHMEM_TUNING's; written by start-up only
std::atomic<std::uint64_t> packed_plan{0};  // the program's, 0 for none; any thread may ask

// In one word, which is never 0: there is a block at least.
std::uint64_t pack(const device::Plan& plan) {
  return static_cast<std::uint64_t>(plan.algorithm) << 32 |
         static_cast<std::uint64_t>(plan.blocks) << 16 | static_cast<std::uint64_t>(plan.threads);
}
device::Plan unpack(std::uint64_t word) {
  return {static_cast<device::ReduceAlgorithm>(word >> 32), static_cast<int>(word >> 16 & 0xFFFF),
          static_cast<int>(word & 0xFFFF)};
}

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
    case ReduceAlgorithm::pull:
      return pull;
    case ReduceAlgorithm::one_shot_wide:
      return one_shot_wide;
    case ReduceAlgorithm::two_shot_wide:
      return two_shot_wide;
    case ReduceAlgorithm::ring_and_copies:
      return ring_and_copies;
    default:
      return two_shot;
  }
}

const Row* find_row(std::span<const Row> rows, std::size_t bytes, int n_pes) {
  const auto fits = [&](const Row& row) { return bytes <= row.max_bytes && n_pes <= row.max_pes; };
  const auto found = std::find_if(rows.begin(), rows.end(), fits);
  return found == rows.end() ? nullptr : &*found;
}

bool adds_in_pe_order(device::ReduceAlgorithm algorithm) {
  return algorithm != ring && algorithm != ring_and_copies && algorithm != recursive_doubling;
}

}  // namespace

std::optional<std::string> use_tuning(std::string_view text, std::string_view architecture,
                                      int n_pes) {
  PlanTable table;
  if (auto error = parse_plan_table(table, text)) return error;
  if (auto error = misfit_of(table, architecture, n_pes)) return error;
  tuned_rows = std::move(table.rows);
  return std::nullopt;
}

void use_plan(const std::optional<device::Plan>& plan) {
  packed_plan.store(plan ? pack(*plan) : 0, std::memory_order_relaxed);
}

device::Plan plan_for(std::size_t bytes, int n_pes) {
  const Row* tuned = find_row(tuned_rows, bytes, n_pes);
  if (tuned && tuned->plan.blocks > 0) return tuned->plan;
  const Row* row = find_row(kRows, bytes, n_pes);
  return row ? row->plan : kRows.back().plan;
}

namespace {

// Where one of those that users' kernels have is forced.
std::optional<device::ReduceLimits> forced_limits(const ReductionChoice& choice) {
  switch (choice.forced) {
    case ReduceAlgorithm::one_shot:
      return device::ReduceLimits{kAnySize, kAnySize};
    case ReduceAlgorithm::two_shot:
      return device::ReduceLimits{0, kAnySize};
    case ReduceAlgorithm::pull:
      return device::ReduceLimits{0, 0};
    default:
      return std::nullopt;
  }
}

}  // namespace

device::ReduceLimits group_limits(const ReductionChoice& choice, int n_pes) {
  if (const auto limits = forced_limits(choice)) return *limits;
  const std::size_t of_one_block = n_pes <= 2 ? 16 << 10 : 8 << 10;  // on 2 and on 4 H200
  std::size_t most = 0;
  for (const Row& row : kRows) {
    if (n_pes <= row.max_pes && row.plan.algorithm == one_shot)
      most = std::min(of_one_block, row.max_bytes);
  }
  return {most, most};
}

// Where the table for many blocks changes. Packets have about half as many bytes of data on the links as
// wide lines have, which users' kernels have not. By two PEs it has been measured up to 1 MiB.
device::ReduceLimits grid_limits(const ReductionChoice& choice, int n_pes) {
  if (const auto limits = forced_limits(choice)) return *limits;
  device::ReduceLimits most{0, 0};
  const std::size_t most_of_two_shot = n_pes <= 2 ? 1 << 20 : kAnySize;
  for (const Row& row : kRows) {
    if (find_row(kRows, row.max_bytes, n_pes) != &row) continue;
    if (row.plan.algorithm == one_shot) most.one_shot = std::max(most.one_shot, row.max_bytes);
    if (row.plan.algorithm == one_shot_wide)
      most.one_shot = std::max(most.one_shot, row.max_bytes / 2);
    if (row.plan.algorithm == two_shot) most.two_shot = std::max(most.two_shot, row.max_bytes);
    if (row.plan.algorithm == two_shot_wide)
      most.two_shot = std::max(most.two_shot, std::min(row.max_bytes / 2, most_of_two_shot));
  }
  return most;
}

namespace {

// By the program, else by the environment, else by a table.
device::Plan wanted_plan(const ReductionChoice& choice, std::size_t bytes, int n_pes) {
  if (const std::uint64_t word = packed_plan.load(std::memory_order_relaxed)) return unpack(word);
  device::Plan plan = plan_for(bytes, n_pes);
  if (const auto forced = forced_algorithm(choice, bytes)) plan.algorithm = of_kernels(*forced);
  plan.blocks = static_cast<int>(
      std::clamp(choice.device_blocks.value_or(static_cast<unsigned>(plan.blocks)), 1u, 1u << 30));
  plan.threads = static_cast<int>(std::clamp(
      choice.device_threads.value_or(static_cast<unsigned>(plan.threads)), 1u, 1u << 30));
  return plan;
}

}  // namespace

device::Plan choose_plan(const ReductionChoice& choice, std::size_t bytes, int n_pes,
                         int channels) {
  device::Plan plan = wanted_plan(choice, bytes, n_pes);
  if (choice.deterministic && !adds_in_pe_order(plan.algorithm)) plan.algorithm = two_shot;
  plan.blocks = std::min(plan.blocks, channels);
  plan.threads = std::min(plan.threads, most_threads(plan.algorithm));
  // Wide lines are carried by whole waves.
  if (plan.algorithm == one_shot_wide || plan.algorithm == two_shot_wide)
    plan.threads = (plan.threads + kLanes - 1) / kLanes * kLanes;
  return plan;
}

// Around the ring if a reduction of the whole source goes there, and all blocks begin alike. In the short
// rows of a single channel the ring's parts are shorter than those of one hop.
device::Plan choose_scatter_plan(const ReductionChoice& choice, std::size_t bytes, int n_pes,
                                 int channels) {
  constexpr std::size_t kLine = 16;
  device::Plan plan = choose_plan(choice, bytes * static_cast<std::size_t>(n_pes), n_pes, channels);
  const bool is_ring = plan.algorithm == ring || plan.algorithm == ring_and_copies;
  if (is_ring && bytes % kLine == 0 && channels > 1) {
    plan.algorithm = ring;
    return plan;
  }
  plan = choose_plan(choice, bytes, n_pes, channels);
  plan.algorithm = one_shot;
  return plan;
}

}  // namespace meshmem
