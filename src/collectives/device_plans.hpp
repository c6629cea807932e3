// SPDX-License-Identifier: Apache-2.0
//
// By which algorithm the kernels of reductions run, and with how many blocks and threads.
// Invariant: the answer depends only on what all PEs have in common. Called where such a kernel is
// launched.
#ifndef MESHMEM_COLLECTIVES_DEVICE_PLANS_HPP_
#define MESHMEM_COLLECTIVES_DEVICE_PLANS_HPP_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "collectives/reduction.hpp"
#include "device/launch.hpp"

namespace meshmem {

// Rows that come before those of the target's table: the text of the file that MESHMEM_TUNING names.
// What is wrong with it, or nullopt; also where it is not for these PEs and devices (misfit_of()). By
// start-up, before any reduction.
std::optional<std::string> use_tuning(std::string_view text, std::string_view architecture,
                                      int n_pes);

// One plan for all reductions that are called from now on, whatever tables and environment say;
// nullopt gives it up.
void use_plan(const std::optional<device::Plan>& plan);

// What the tables have for a reduction of so many bytes by a team of so many PEs.
device::Plan plan_for(std::size_t bytes, int n_pes);

// By which algorithm users' kernels reduce, in a thread, a wave or a block, and by all blocks of a grid.
device::ReduceLimits group_limits(const ReductionChoice& choice, int n_pes);
device::ReduceLimits grid_limits(const ReductionChoice& choice, int n_pes);

// What the program and the environment make of that, and the number of the team's channels.
device::Plan choose_plan(const ReductionChoice& choice, std::size_t bytes, int n_pes, int channels);
// The same for a reduce-scatter with so many bytes for each PE: around the ring, or in one hop.
device::Plan choose_scatter_plan(const ReductionChoice& choice, std::size_t bytes, int n_pes,
                                 int channels);

}  // namespace meshmem

#endif  // MESHMEM_COLLECTIVES_DEVICE_PLANS_HPP_
