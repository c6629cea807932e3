// SPDX-License-Identifier: Apache-2.0
//
// Explains the fault of a PE's own kernel that uses the NULL of a failed allocation.
// Invariant: only kernels on processors report a fault to the host; GPUs end their kernels
// themselves. Called by start-up.
#ifndef MESHMEM_CORE_KERNEL_FAULTS_HPP_
#define MESHMEM_CORE_KERNEL_FAULTS_HPP_

namespace meshmem {

// From now on a line about the failed allocation follows the line about a kernel's bad address, if
// the address belongs to that allocation.
void explain_kernel_faults();

}  // namespace meshmem

#endif  // MESHMEM_CORE_KERNEL_FAULTS_HPP_
