// SPDX-License-Identifier: Apache-2.0
// Functions to call when a kernel fails. Invariant: at most one call at a time. meshmem's start-up
// registers them.
#pragma once

#pragma GCC visibility push(default)

namespace hip_on_cpu {

// Called in a signal handler, after the line that says what has failed, before the process ends.
void call_at_faults(void (*function)());

// Called before the function above if a kernel has used a bad address; also in a signal handler.
void call_at_bad_addresses(void (*function)(const void* address));

// Calls the function for bad addresses. Also for a kernel that ends itself because of `address`.
void show_bad_address(const void* address);

}  // namespace hip_on_cpu

#pragma GCC visibility pop
