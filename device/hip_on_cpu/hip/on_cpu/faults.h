// SPDX-License-Identifier: Apache-2.0
// What else happens when a kernel fails. Invariant: called at most once at a time. Called by
// start-up of meshmem.
#pragma once

#pragma GCC visibility push(default)

namespace hip_on_cpu {

// Called in a signal handler, after the line that says what has failed, before the process ends.
void call_at_faults(void (*function)());

}  // namespace hip_on_cpu

#pragma GCC visibility pop
