// SPDX-License-Identifier: Apache-2.0
//
// Reads plans of reductions in kernels: one as text ("two_shot 16 512"), and the table of them in
// the file of MESHMEM_TUNING.
// Invariant: a plan that is accepted here is one that kernels can run. Called by start-up and by
// shmemx_reduce_plan.
#ifndef MESHMEM_COLLECTIVES_POLICY_PLAN_TEXT_HPP_
#define MESHMEM_COLLECTIVES_POLICY_PLAN_TEXT_HPP_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings/environment.hpp"
#include "device/launch.hpp"

namespace meshmem {

// A row of a table: the plan for up to these bytes and PEs. The first row that fits counts. A plan
// with 0 blocks (`auto` in the file) leaves the choice to the library's own table.
struct PlanRow {
  std::size_t max_bytes;
  int max_pes;
  device::Plan plan;
};
struct PlanTable {
  std::string architecture;  // of the devices that it was measured on, such as sm_90
  std::vector<PlanRow> rows;
};
inline constexpr std::size_t kAnySize = ~std::size_t{0};
inline constexpr int kAnyPes = 1 << 30;

// The name of the algorithm with this number, counted from 0; empty past the last.
std::string_view name_of_algorithm(std::size_t index);

// Reads "algorithm blocks threads". On failure `why`, unless it is null, says what is wrong and
// what would be right.
std::optional<device::Plan> parse_plan(std::string_view text, std::string* why = nullptr);

// Reads a file's text into `table`: a line `meshmem-tuning 1 ARCHITECTURE`, then rows `max_bytes
// max_pes algorithm blocks threads` or `max_bytes max_pes auto`. `any` stands for all sizes and
// numbers, # begins a comment. Returns nullopt, or "line 3: ..." with what is wrong and what would
// be right; then `table` is unchanged.
std::optional<std::string> parse_plan_table(PlanTable& table, std::string_view text);

// Returns nullopt if the table fits a job of `n_pes` PEs with devices of this architecture;
// otherwise why not, and what to do. `architecture` is empty if there are no devices: then that of
// the table does not matter.
std::optional<std::string> reason_against(const PlanTable& table, std::string_view architecture,
                                          int n_pes);

}  // namespace meshmem

#endif  // MESHMEM_COLLECTIVES_POLICY_PLAN_TEXT_HPP_
