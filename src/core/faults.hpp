// SPDX-License-Identifier: Apache-2.0
//
// Prints the stack of a PE that fails under MESHMEM_ABORT=core, and lets it leave a core file. Also
// says what a bad address of the host is, and names the failed allocation whose NULL a kernel has
// used.
// Invariant: the launcher sees a PE that was killed by a signal, and ends the others. Called by
// start-up, once it is known who starts this process.
#ifndef MESHMEM_CORE_FAULTS_HPP_
#define MESHMEM_CORE_FAULTS_HPP_

namespace meshmem {

class SymmetricHeap;

// From now on an error prints the stack, and leaves a core file with the blocks of `heap`. This
// includes errors in kernels on processors. The heap lives as long as the process.
void end_by_core_files(SymmetricHeap& heap);

// From now on a bad address of the host prints a line about the address, then the stack, and ends
// the process, unless the program handles such signals. Also, a line about a failed allocation
// follows the line about a kernel's bad address, if the kernel has used the NULL of that
// allocation. The latter is for the cpu target alone: GPUs end their kernels themselves.
void explain_faults();

// Gives the calling thread a stack on which explain_faults() also works when the thread's own stack
// is full. A thread that has another one keeps it.
[[gnu::cold, gnu::noinline]] void take_fault_stack();

// True once this thread has called take_fault_stack().
extern constinit thread_local bool has_taken_fault_stack [[gnu::tls_model("initial-exec")]];

}  // namespace meshmem

#endif  // MESHMEM_CORE_FAULTS_HPP_
