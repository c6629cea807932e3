// SPDX-License-Identifier: Apache-2.0
// What else happens when a kernel fails. Invariant: called at most once at a time. Start-up of
// meshmem gives the functions.
#pragma once

#pragma GCC visibility push(default)

namespace hip_on_cpu {

// Called in a signal handler, after the line that says what has failed, before the process ends.
void call_at_faults(void (*function)());

// The same, before that, where a kernel has used an address that is bad.
void call_at_bad_addresses(void (*function)(const void* address));

// Called by a kernel that is about to end itself because of this address.
void show_bad_address(const void* address);

}  // namespace hip_on_cpu

#pragma GCC visibility pop
