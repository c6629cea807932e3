// SPDX-License-Identifier: Apache-2.0
// Functions of HIP on processors that HIP itself does not have, for meshmem and its tests.
// Invariant: every answer is the same for all devices and all kernels of a process.
#pragma once

#include <signal.h>

#include <cstdint>

#pragma GCC visibility push(default)

namespace hip_on_cpu {

// Sets the function that is called when a kernel fails, between the line that says what has failed
// and the end of the process. It is called in a signal handler, and at most once.
void call_at_faults(void (*function)());

// Tells which handler the host has for SIGSEGV and SIGBUS. The handler for kernels replaces it, and
// calls it for faults outside of kernels.
void call_at_faults_of_host(void (*handler)(int, siginfo_t*, void*));

// Sets the function that is called before that of call_at_faults() if a kernel has used a bad
// address; also in a signal handler.
void call_at_bad_addresses(void (*function)(const void* address));

// Calls the function of call_at_bad_addresses(), for kernels that find a bad address themselves.
void show_bad_address(const void* address);

// Observes threads of kernels that have waited for over a millisecond by yield_for(), which says
// what for. say() is called about ten times a second during such a wait, and end() at its end.
// `shown` is what say() has returned before in this wait, at first null. `who` names the kernel,
// block and thread. since_ns is a time of the monotonic clock.
struct WaitObserver {
  void* (*say)(void* shown, const char* who, const void* awaited, std::uint64_t since_ns);
  void (*end)(void* shown);
};
void observe_waits(const WaitObserver* observer);  // the observer lives as long as the process

// Whether these devices claim a large BAR, as AMD GPUs may (MESHMEM_CPU_LARGE_BAR). Then meshmem
// lets the host store into device memory. The host always can: all memory is the processor's.
bool has_large_bar();

// Whether the library's own kernels have as many blocks and threads as on a GPU, for tests
// (MESHMEM_CPU_WIDE_KERNELS). Otherwise they have one thread, which is the fastest here.
bool has_wide_kernels();

// How many kernels this process has put on streams so far. Repetitions by graphs do not count.
std::uint64_t kernels_submitted();

}  // namespace hip_on_cpu

#pragma GCC visibility pop
