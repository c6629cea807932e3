// SPDX-License-Identifier: Apache-2.0
//
// Chooses among the algorithms of device/collectives/algorithms.def.
// Invariant: with in_pe_order every answer is an algorithm that adds in PE order.
#include "collectives/policy/reduce_policy.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/status/slow_ways.hpp"
#include "collectives/policy/reduce_tables.hpp"
#include "gpu/device_target.hpp"

namespace meshmem {

constinit ReducePolicy reduce_policy;

static_assert(kMostReduceBlocks == device::kChannels);
static_assert(std::all_of(std::begin(device::kReduceAlgorithms),
                          std::end(device::kReduceAlgorithms),
                          [](const device::ReduceAlgorithmRow& row) {
                            return row.adds_in_pe_order || !row.is_on_host;
                          }),
              "so that host_algorithm() need not know whether the order is fixed");

namespace {

using enum ReduceAlgorithm;

constexpr int kLanes = 32;
constexpr int kBlocksOfWideLines = 128;
constexpr unsigned kAnyBlocks = ~0u;

// Kernels run this if a plan's algorithm does not add in PE order. On two H200 `direct` takes 4 to
// 8 % longer than the ring (docs/measurements/two_h200.md).
constexpr ReduceAlgorithm kInPeOrder = kDevicesAreProcessors ? pull : direct;

// From this size on `classic` is the ring, unless MESHMEM_REDUCE_RING_MIN_BYTES is set: it reduces
// as older libraries do.
constexpr std::size_t kClassicRingMinBytes = (std::size_t{32} << 10) + 1;

bool adds_in_pe_order(ReduceAlgorithm algorithm) {
  return device::row_of(algorithm).adds_in_pe_order;
}
int most_threads(ReduceAlgorithm algorithm) { return device::row_of(algorithm).most_threads; }

// A plan in one word, which is never 0: a plan has at least one block.
std::uint64_t pack(const device::Plan& plan) {
  return static_cast<std::uint64_t>(plan.algorithm) << 32 |
         static_cast<std::uint64_t>(plan.blocks) << 16 | static_cast<std::uint64_t>(plan.threads);
}
device::Plan unpack(std::uint64_t word) {
  return {static_cast<ReduceAlgorithm>(word >> 32), static_cast<int>(word >> 16 & 0xFFFF),
          static_cast<int>(word & 0xFFFF)};
}

int within_limits(std::optional<unsigned> given, int otherwise) {
  return static_cast<int>(
      std::clamp(given.value_or(static_cast<unsigned>(otherwise)), 1u, 1u << 30));
}

}  // namespace

std::optional<std::string> ReducePolicy::use_tuning(std::string_view text,
                                                    std::string_view architecture, int n_pes) {
  PlanTable table;
  if (auto error = parse_plan_table(table, text)) return error;
  if (auto error = reason_against(table, architecture, n_pes)) return error;
  tuned_rows_ = std::move(table.rows);
  return std::nullopt;
}

void ReducePolicy::use_plan(const std::optional<device::Plan>& plan) {
  packed_plan_.store(plan ? pack(*plan) : 0, std::memory_order_relaxed);
}

// Returns the algorithm that the settings ask for; nullopt if a table chooses.
std::optional<ReduceAlgorithm> ReducePolicy::algorithm_by_settings(std::size_t bytes,
                                                                   bool in_pe_order) const {
  const bool is_large =
      bytes >= settings.ring_min_bytes.value_or(
                   settings.rule.kind == ReduceRule::classic ? kClassicRingMinBytes : kAnySize);
  std::optional<ReduceAlgorithm> algorithm;
  switch (settings.rule.kind) {
    case ReduceRule::automatic:
      if (is_large) algorithm = ring;
      break;
    case ReduceRule::classic:
      algorithm = is_large ? ring : recursive_doubling;
      break;
    case ReduceRule::one:
      algorithm = settings.rule.algorithm;
      break;
  }
  if (algorithm && in_pe_order && !adds_in_pe_order(*algorithm)) {
    if (settings.rule.kind == ReduceRule::one)
      note_slow_way(SlowWay::forced_algorithm, "MESHMEM_REDUCE_ALGORITHM");
    return std::nullopt;
  }
  return algorithm;
}

ReduceAlgorithm ReducePolicy::host_algorithm_of_tables(std::size_t bytes, int n_pes) const {
  if (settings.rule.kind != ReduceRule::one)
    return find_row(host_rows(), bytes, n_pes)->plan.algorithm;
  ReduceAlgorithm algorithm = settings.rule.algorithm;
  if (!device::row_of(algorithm).is_on_host)
    note_slow_way(SlowWay::forced_algorithm, "MESHMEM_REDUCE_ALGORITHM");
  while (!device::row_of(algorithm).is_on_host) algorithm = device::row_of(algorithm).fallback;
  return algorithm;
}

device::Plan ReducePolicy::table_plan(std::size_t bytes, int n_pes) const {
  const PlanRow* tuned = find_row(tuned_rows_, bytes, n_pes);
  if (tuned && tuned->plan.blocks > 0) return tuned->plan;
  return find_row(kernel_rows(), bytes, n_pes)->plan;
}

// Returns the program's plan, else the environment's, else a table's.
device::Plan ReducePolicy::wanted_plan(std::size_t bytes, int n_pes, bool in_pe_order) const {
  if (const std::uint64_t word = packed_plan_.load(std::memory_order_relaxed)) return unpack(word);
  device::Plan plan = table_plan(bytes, n_pes);
  if (const auto algorithm = algorithm_by_settings(bytes, in_pe_order)) {
    plan.algorithm = *algorithm;
  } else if (has_plans_for_few_blocks() && tuned_rows_.empty() &&
             settings.blocks.value_or(kAnyBlocks) <= kFewBlocks) {
    plan = plan_for_few_blocks(plan, bytes, n_pes, *settings.blocks, in_pe_order);
  }
  plan.blocks = within_limits(settings.blocks, plan.blocks);
  plan.threads = within_limits(settings.threads, plan.threads);
  return plan;
}

bool ReducePolicy::is_left_to_tables() const {
  return settings.rule.kind == ReduceRule::automatic && !settings.ring_min_bytes &&
         packed_plan_.load(std::memory_order_relaxed) == 0;
}

// The tables' plans are for large slots. In a small slot the packets and chunks of a row hold 256
// bytes or less: with more than two of them, reading the other PEs' memory takes less time.
device::Plan ReducePolicy::kernel_plan(std::size_t bytes, int n_pes, int channels,
                                       bool in_pe_order) const {
  constexpr std::size_t kMostByRows = 512;
  constexpr int kThreadsOfPull = kDevicesAreProcessors ? 1 : 512;
  device::Plan plan = wanted_plan(bytes, n_pes, in_pe_order);
  if (channels == 1 && bytes > kMostByRows && is_left_to_tables())
    plan = {pull, 1, within_limits(settings.threads, kThreadsOfPull)};
  if (in_pe_order && !adds_in_pe_order(plan.algorithm)) plan.algorithm = kInPeOrder;
  plan.blocks = std::min(plan.blocks, channels);
  plan.threads = std::min(plan.threads, most_threads(plan.algorithm));
  // A whole wave stores four wide lines at once, so blocks consist of whole waves.
  if (device::row_of(plan.algorithm).kernel == device::ReduceKernel::wide_lines)
    plan.threads = (plan.threads + kLanes - 1) / kLanes * kLanes;
  return plan;
}

// Returns a plan by wide lines for a reduce-scatter, or nullopt if another plan is better. Wide
// lines are better from the size on at which a reduction is no longer one_shot, as long as each
// block of the kernel has few lines.
std::optional<device::Plan> ReducePolicy::scatter_plan_of_wide_lines(std::size_t bytes, int n_pes,
                                                                     int channels,
                                                                     bool in_pe_order) const {
  constexpr std::size_t kMost = 2 << 20, kMostOfTwo = 4 << 20;  // measured on 4 and on 2 H100
  if (!has_plans_for_few_blocks() || !is_left_to_tables()) return std::nullopt;
  device::Plan plan = kernel_plan(bytes, n_pes, channels, in_pe_order);
  if (plan.algorithm == one_shot || plan.algorithm == one_shot_wide)
    return plan.algorithm == one_shot ? std::nullopt : std::optional(plan);
  plan = plan_of_all_wide_lines(one_shot_wide, channels);
  const std::size_t most_of_block = (n_pes <= 2 ? kMostOfTwo : kMost) / kBlocksOfWideLines;
  if (bytes > most_of_block * static_cast<std::size_t>(plan.blocks)) return std::nullopt;
  return plan;
}

device::Plan ReducePolicy::plan_of_all_wide_lines(ReduceAlgorithm algorithm, int channels) const {
  constexpr int kThreads = 576;
  const int blocks =
      std::min({within_limits(settings.blocks, kBlocksOfWideLines), channels, kBlocksOfWideLines});
  const int threads = std::min(within_limits(settings.threads, kThreads), kThreads);
  return {algorithm, blocks, (threads + kLanes - 1) / kLanes * kLanes};
}

// Large data goes by wide lines where there are such kernels, else by packets.
device::Plan ReducePolicy::kernel_plan_by_rows(std::size_t bytes, int n_pes, int channels,
                                               bool scatters, bool in_pe_order) const {
  device::Plan plan = scatters ? kernel_scatter_plan(bytes, n_pes, channels, in_pe_order)
                               : kernel_plan(bytes, n_pes, channels, in_pe_order);
  const device::ReduceKernel kernel = device::row_of(plan.algorithm).kernel;
  if (kernel == device::ReduceKernel::packets || kernel == device::ReduceKernel::wide_lines)
    return plan;
  if (!kDevicesAreProcessors && !kDevicesAreAmd)
    return plan_of_all_wide_lines(scatters ? one_shot_wide : two_shot_wide, channels);
  plan.algorithm = scatters ? one_shot : two_shot;
  return plan;
}

// If the table has `pull` for a reduction of the whole source, a reduce-scatter of at least this
// many bytes for each PE takes the ring. On processors a few packets are faster for less data.
constexpr std::size_t kLeastScatteredByRing = kDevicesAreProcessors ? 1 << 10 : 0;

// Takes the ring if a reduction of the whole source takes it, or pulls (except on AMD), and if all
// PEs' blocks are aligned alike. In the short rows of a single channel the ring's batches are
// shorter than those of one hop. Two PEs also take the ring from 1 MiB on where the reduction would
// be two_shot_wide, which cannot scatter.
device::Plan ReducePolicy::kernel_scatter_plan(std::size_t bytes, int n_pes, int channels,
                                               bool in_pe_order) const {
  constexpr std::size_t kLine = 16;
  if (const auto plan = scatter_plan_of_wide_lines(bytes, n_pes, channels, in_pe_order))
    return *plan;
  device::Plan plan =
      kernel_plan(bytes * static_cast<std::size_t>(n_pes), n_pes, channels, in_pe_order);
  const bool by_wide_lines = plan.algorithm == two_shot_wide && !in_pe_order;
  if (by_wide_lines && n_pes == 2 && bytes >= std::size_t{1} << 20)
    plan = {ring, std::min(within_limits(settings.blocks, 128), channels), 256};  // on H100
  const bool is_pulled = !kDevicesAreAmd && bytes >= kLeastScatteredByRing &&
                         plan.algorithm == pull && settings.rule.kind == ReduceRule::automatic &&
                         !in_pe_order;
  const bool is_ring = plan.algorithm == ring || plan.algorithm == ring_and_copies || is_pulled;
  if (is_ring && bytes % kLine == 0 && channels > 1) {
    plan.algorithm = ring;
    return plan;
  }
  plan = kernel_plan(bytes, n_pes, channels, in_pe_order);
  plan.algorithm = one_shot;
  return plan;
}

// The limits if the settings force an algorithm that users' kernels have.
std::optional<device::ReduceLimits> ReducePolicy::limits_by_settings() const {
  if (settings.rule == one_shot) return device::ReduceLimits{kAnySize, kAnySize};
  if (settings.rule == two_shot) return device::ReduceLimits{0, kAnySize};
  if (settings.rule == pull) return device::ReduceLimits{0, 0};
  return std::nullopt;
}

device::ReduceLimits ReducePolicy::block_limits(int n_pes) const {
  const std::size_t most_of_one_block = n_pes <= 2 ? 16 << 10 : 8 << 10;  // on 2 and on 4 H200
  std::size_t most = 0;
  for (const PlanRow& row : kernel_rows()) {
    if (n_pes <= row.max_pes && row.plan.algorithm == one_shot)
      most = std::min(most_of_one_block, row.max_bytes);
  }
  return {most, most};
}

// The sizes at which the table for many blocks changes its algorithm. Users' kernels have packets
// in place of wide lines. Packets carry about half as much data on the links, so limits of wide
// lines are halved. With two PEs, two_shot has been measured up to 1 MiB.
device::ReduceLimits ReducePolicy::grid_limits(int n_pes) const {
  device::ReduceLimits most{0, 0};
  const std::size_t most_of_two_shot = n_pes <= 2 ? 1 << 20 : kAnySize;
  for (const PlanRow& row : kernel_rows()) {
    if (find_row(kernel_rows(), row.max_bytes, n_pes) != &row) continue;
    if (row.plan.algorithm == one_shot) most.one_shot = std::max(most.one_shot, row.max_bytes);
    if (row.plan.algorithm == one_shot_wide)
      most.one_shot = std::max(most.one_shot, row.max_bytes / 2);
    if (row.plan.algorithm == two_shot) most.two_shot = std::max(most.two_shot, row.max_bytes);
    if (row.plan.algorithm == two_shot_wide)
      most.two_shot = std::max(most.two_shot, std::min(row.max_bytes / 2, most_of_two_shot));
  }
  return most;
}

// A thread of a GPU receives and combines an 8-byte packet in 0.7 us. Reading the other PEs' memory
// between two meetings takes as long as four packets (2 H200).
device::KernelReduceLimits ReducePolicy::kernel_limits(int n_pes) const {
  if (const auto forced = limits_by_settings()) return {*forced, *forced, *forced, *forced};
  const device::ReduceLimits block = block_limits(n_pes), grid = grid_limits(n_pes);
  if (kDevicesAreProcessors) return {block, block, block, grid};
  const auto at_most = [&block](std::size_t bytes) {
    return device::ReduceLimits{std::min(block.one_shot, bytes), std::min(block.two_shot, bytes)};
  };
  constexpr std::size_t kMostOfThread = 32, kMostOfWave = 32 * kMostOfThread;
  return {at_most(kMostOfThread), at_most(kMostOfWave), block, grid};
}

}  // namespace meshmem
