// SPDX-License-Identifier: Apache-2.0
//
// Chooses the algorithm of a reduction; for a kernel also its number of blocks and threads.
// Invariant: the answer depends only on what all PEs have in common. Asked by every reduction that
// the host calls; dispatch.cpp looks at the memory of the buffers.
#ifndef MESHMEM_COLLECTIVES_POLICY_REDUCE_POLICY_HPP_
#define MESHMEM_COLLECTIVES_POLICY_REDUCE_POLICY_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings/environment.hpp"
#include "collectives/policy/plan_text.hpp"
#include "device/launch.hpp"

namespace meshmem {

// The settings of the environment.
struct ReduceSettings {
  ReduceRule rule{};
  std::optional<std::size_t> ring_min_bytes{};
  // For reductions by kernels, on device memory.
  std::optional<unsigned> blocks{};
  std::optional<unsigned> threads{};
};

// For kernels the program's plan comes first, then the environment, then the rows of
// MESHMEM_TUNING, then those of the library.
class ReducePolicy {
 public:
  ReduceSettings settings{};  // written by start-up only

  // Takes the rows in `text`, from the file that MESHMEM_TUNING names. Returns nullopt, or what is
  // wrong, also if the rows are not for these PEs and devices. Called by start-up, before any
  // reduction.
  std::optional<std::string> use_tuning(std::string_view text, std::string_view architecture,
                                        int n_pes);
  // All reductions in kernels that are called from now on take this plan; nullopt removes it. Any
  // thread may call it.
  void use_plan(const std::optional<device::Plan>& plan);

  // For host memory: an algorithm that the host has, which adds in PE order. Small sizes need no
  // look at the tables, which would take a tenth of the reduction's time.
  ReduceAlgorithm host_algorithm(std::size_t bytes, int n_pes) const {
    if (bytes <= kOneShotBytes && settings.rule.kind != ReduceRule::one) [[likely]]
      return ReduceAlgorithm::one_shot;
    return host_algorithm_of_tables(bytes, n_pes);
  }
  // Returns the plan for a kernel of a team with `channels` channels. in_pe_order: the algorithm
  // must add in PE order (NodeTeam::in_pe_order).
  device::Plan kernel_plan(std::size_t bytes, int n_pes, int channels,
                           bool in_pe_order = false) const;
  // The same for a reduce-scatter with `bytes` for each PE: around the ring, or in one hop.
  device::Plan kernel_scatter_plan(std::size_t bytes, int n_pes, int channels,
                                   bool in_pe_order = false) const;
  // The same among the algorithms that use only the team's rows in other PEs' memory (by_rows.cpp).
  device::Plan kernel_plan_by_rows(std::size_t bytes, int n_pes, int channels, bool scatters,
                                   bool in_pe_order = false) const;
  // The tables' own plan for kernels.
  device::Plan table_plan(std::size_t bytes, int n_pes) const;

  // The limits by which users' kernels choose an algorithm: for a thread, a wave, a block and a
  // grid.
  device::KernelReduceLimits kernel_limits(int n_pes) const;

  // Up to this many bytes the host's table has one_shot for any number of PEs.
  static constexpr std::size_t kOneShotBytes = 512;

 private:
  ReduceAlgorithm host_algorithm_of_tables(std::size_t bytes, int n_pes) const;
  std::optional<ReduceAlgorithm> algorithm_by_settings(std::size_t bytes, bool in_pe_order) const;
  std::optional<device::ReduceLimits> limits_by_settings() const;
  device::ReduceLimits block_limits(int n_pes) const;
  device::ReduceLimits grid_limits(int n_pes) const;
  device::Plan wanted_plan(std::size_t bytes, int n_pes, bool in_pe_order) const;
  // Whether neither the program nor the environment has chosen an algorithm.
  bool is_left_to_tables() const;
  device::Plan plan_of_all_wide_lines(ReduceAlgorithm algorithm, int channels) const;
  std::optional<device::Plan> scatter_plan_of_wide_lines(std::size_t bytes, int n_pes, int channels,
                                                         bool in_pe_order) const;

  std::vector<PlanRow> tuned_rows_;
  std::atomic<std::uint64_t> packed_plan_{0};  // the program's, 0 for none
};
extern constinit ReducePolicy reduce_policy;

}  // namespace meshmem

#endif  // MESHMEM_COLLECTIVES_POLICY_REDUCE_POLICY_HPP_
