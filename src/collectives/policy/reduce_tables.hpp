// SPDX-License-Identifier: Apache-2.0
//
// The measured tables from which reductions get their algorithm, on host memory and in kernels.
// Invariant: the first row that fits counts, and the last row is for everything. Read by
// ReducePolicy.
#ifndef MESHMEM_COLLECTIVES_POLICY_REDUCE_TABLES_HPP_
#define MESHMEM_COLLECTIVES_POLICY_REDUCE_TABLES_HPP_

#include <algorithm>
#include <cstddef>
#include <span>

#include "collectives/policy/plan_text.hpp"

namespace meshmem {

std::span<const PlanRow> host_rows();    // of their plans the host reads the algorithm alone
std::span<const PlanRow> kernel_rows();  // of the target that the library was built for
// The plan on NVIDIA GPUs for at most kFewBlocks blocks. `plan`: the table's plan, for any number
// of blocks. in_pe_order: the algorithm must add in PE order.
inline constexpr unsigned kFewBlocks = 32;
device::Plan plan_for_few_blocks(const device::Plan& plan, std::size_t bytes, int n_pes,
                                 unsigned blocks, bool in_pe_order);
bool has_plans_for_few_blocks();  // whether the library's target has them

// Returns the first row that fits; null if none does.
inline const PlanRow* find_row(std::span<const PlanRow> rows, std::size_t bytes, int n_pes) {
  const auto fits = [&](const PlanRow& row) {
    return bytes <= row.max_bytes && n_pes <= row.max_pes;
  };
  const auto found = std::find_if(rows.begin(), rows.end(), fits);
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace meshmem

#endif  // MESHMEM_COLLECTIVES_POLICY_REDUCE_TABLES_HPP_
