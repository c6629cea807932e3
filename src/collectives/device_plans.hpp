// SPDX-License-Identifier: Apache-2.0
//
// By which algorithm the kernels of reductions run, and with how many blocks and threads.
// Invariant: the answer depends only on what all PEs have in common. Called where such a kernel is
// launched.
#ifndef MESHMEM_COLLECTIVES_DEVICE_PLANS_HPP_
#define MESHMEM_COLLECTIVES_DEVICE_PLANS_HPP_

#include <cstddef>

#include "collectives/reduction.hpp"
#include "device/launch.hpp"

namespace meshmem {

// What the table of the target has for a reduction of so many bytes by a team of so many PEs.
device::Plan plan_for(std::size_t bytes, int n_pes);

// Up to how many bytes groups in users' kernels send all to all; for more they take two shots.
std::size_t one_shot_max_bytes(const ReductionChoice& choice, int n_pes);

// What the environment makes of that, and the number of the team's channels.
device::Plan choose_plan(const ReductionChoice& choice, std::size_t bytes, int n_pes, int channels);

}  // namespace meshmem

#endif  // MESHMEM_COLLECTIVES_DEVICE_PLANS_HPP_
