// SPDX-License-Identifier: Apache-2.0
// HIP's answer about a device's large BAR on AMD GPUs, and the counters that a test of stores by
// the host reads. Invariant: the same for all devices. Called by start-up of meshmem, and by tests.
#pragma once

#include <cstdint>

#pragma GCC visibility push(default)

namespace hip_on_cpu {

// Whether the host may store into device memory, as MESHMEM_CPU_LARGE_BAR says. It changes nothing
// else: all memory is the processor's.
bool has_large_bar();

// How many kernels this process has put on streams so far, those that graphs repeat not counted.
std::uint64_t kernels_submitted();

}  // namespace hip_on_cpu

#pragma GCC visibility pop
