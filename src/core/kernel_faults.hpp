// SPDX-License-Identifier: Apache-2.0
//
// What a PE says of a kernel of its own that uses the NULL of an allocation that has failed.
// Invariant: only kernels on processors tell their host; GPUs end theirs by themselves. Called by
// start-up.
#ifndef MESHMEM_CORE_KERNEL_FAULTS_HPP_
#define MESHMEM_CORE_KERNEL_FAULTS_HPP_

namespace meshmem {

// From now on the line of a kernel's bad address is followed by the allocation, where it is one's.
void explain_kernel_faults();

}  // namespace meshmem

#endif  // MESHMEM_CORE_KERNEL_FAULTS_HPP_
