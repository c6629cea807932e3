// SPDX-License-Identifier: Apache-2.0
//
// Plans of reductions in kernels as text: "two_shot 16 512", and the tables of them that
// MESHMEM_TUNING names.
// Invariant: what is read here is a plan that kernels can run. Called by start-up and by
// shmemx_reduce_plan.
#ifndef MESHMEM_COLLECTIVES_PLAN_TEXT_HPP_
#define MESHMEM_COLLECTIVES_PLAN_TEXT_HPP_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.hpp"
#include "device/launch.hpp"

namespace meshmem {

// A row of a table; the first that fits counts. A plan without blocks leaves the choice to the
// library's own table.
struct PlanRow {
  std::size_t max_bytes;
  int max_pes;
  device::Plan plan;
};
// For the architecture that the file names, as in sm_90.
struct PlanTable {
  std::string architecture;
  std::vector<PlanRow> rows;
};
inline constexpr std::size_t kAnySize = ~std::size_t{0};
inline constexpr int kAnyPes = 1 << 30;

// The name of the algorithm with this number, counted from 0; empty past the last.
std::string_view name_of_algorithm(std::size_t index);

// "algorithm blocks threads". On failure `why`, unless it is null, says what is wrong and what
// would do.
std::optional<device::Plan> parse_plan(std::string_view text, std::string* why = nullptr);

// A file's text: a line `meshmem-tuning 1 ARCHITECTURE`, and rows `max_bytes max_pes algorithm
// blocks threads`, or `max_bytes max_pes auto` for the library's own choice; `any` stands for all
// sizes and numbers, # begins a comment. nullopt, or "line 3: ..." with what is wrong and what
// would do; `table` is unchanged then.
std::optional<std::string> parse_plan_table(PlanTable& table, std::string_view text);

// Why the table would do nothing, or harm, for so many PEs with devices of this architecture
// (empty: there are none, and nobody asks the table), and what would do; nullopt if it fits.
std::optional<std::string> misfit_of(const PlanTable& table, std::string_view architecture,
                                     int n_pes);

}  // namespace meshmem

#endif  // MESHMEM_COLLECTIVES_PLAN_TEXT_HPP_
