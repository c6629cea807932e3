// SPDX-License-Identifier: Apache-2.0
//
// The calls that led to here, for MESHMEM_ABORT=core.
// Invariant: printing ends, also in a signal handler of a thread that held locks. Called when the
// process is about to end.
#ifndef MESHMEM_BASE_STACK_HPP_
#define MESHMEM_BASE_STACK_HPP_

namespace meshmem {

// On standard error, innermost first: names where the program has them, files and lines with -g.
void print_stack();

}  // namespace meshmem

#endif  // MESHMEM_BASE_STACK_HPP_
