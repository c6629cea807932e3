// SPDX-License-Identifier: Apache-2.0
//
// MESHMEM_ABORT=core: how a PE ends then that has met an error.
// Invariant: the launcher sees a PE that was killed by a signal, and ends the others. Called by
// start-up, once it is known who starts this process.
#ifndef MESHMEM_CORE_CORE_FILE_HPP_
#define MESHMEM_CORE_CORE_FILE_HPP_

namespace meshmem {

class SymmetricHeap;

// From now on errors, those of kernels on processors included, print the stack, and put what `heap`
// holds in the core file. The heap lives as long as the process.
void end_by_core_files(SymmetricHeap& heap);

}  // namespace meshmem

#endif  // MESHMEM_CORE_CORE_FILE_HPP_
