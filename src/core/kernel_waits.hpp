// SPDX-License-Identifier: Apache-2.0
//
// What kernels wait for, on the board where the host's waits are, if devices are processors.
// Invariant: only reads what teams and kernels use. Begun by start-up.
#ifndef MESHMEM_CORE_KERNEL_WAITS_HPP_
#define MESHMEM_CORE_KERNEL_WAITS_HPP_

namespace meshmem {

// From a process's first device on.
void show_waits_of_kernels();

}  // namespace meshmem

#endif  // MESHMEM_CORE_KERNEL_WAITS_HPP_
