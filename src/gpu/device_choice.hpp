// SPDX-License-Identifier: Apache-2.0
//
// Which of the devices that this process sees a PE uses.
// Invariant: one device a process, from start-up on. Called by start-up.
#ifndef MESHMEM_GPU_DEVICE_CHOICE_HPP_
#define MESHMEM_GPU_DEVICE_CHOICE_HPP_

#include <optional>
#include <string>

#include "base/settings/environment.hpp"

namespace meshmem {

// nullopt and a reason: this PE has none. A MESHMEM_DEVICE that does not exist ends the job.
// `pe_of_machine` counts on over nodes that share a machine.
std::optional<int> choose_device(const Environment& environment, int pe_of_machine,
                                 std::string* why);

}  // namespace meshmem

#endif  // MESHMEM_GPU_DEVICE_CHOICE_HPP_
