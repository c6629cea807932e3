// SPDX-License-Identifier: Apache-2.0
// Calls beside those of HIP that meshmem and its tests make where devices are processors.
// Invariant: every answer is the same for all devices and all kernels of a process.
#pragma once

#include <signal.h>

#include <cstdint>

#pragma GCC visibility push(default)

namespace hip_on_cpu {

// Called in a signal handler when a kernel fails, after the line that says what has failed, before
// the process ends. A process calls it once at most.
void call_at_faults(void (*function)());

// Handles SIGSEGV and SIGBUS of the host: the handler for kernels may take its place, and calls it.
void call_at_faults_of_host(void (*handler)(int, siginfo_t*, void*));

// Called before the function of call_at_faults() if a kernel has used a bad address; also in a
// signal handler.
void call_at_bad_addresses(void (*function)(const void* address));

// Calls the function of call_at_bad_addresses(). For kernels that find a bad address themselves.
void show_bad_address(const void* address);

// Observes threads of kernels that have waited for over a millisecond, if they say for what
// (yield_for()). say() is called now and then, first with null and then with its last answer; end()
// is called at the end of the wait. `who` is the kernel, block and thread; since_ns is of the
// monotonic clock.
struct WaitObserver {
  void* (*say)(void* shown, const char* who, const void* awaited, std::uint64_t since_ns);
  void (*end)(void* shown);
};
void observe_waits(const WaitObserver* observer);  // which lives as long as the process

// Whether the host may store into device memory, as MESHMEM_CPU_LARGE_BAR says: HIP's answer about
// a large BAR on AMD GPUs. It changes nothing else: all memory is the processor's.
bool has_large_bar();

// Whether the library's own kernels have the blocks and threads of a GPU, as
// MESHMEM_CPU_WIDE_KERNELS says, and not one thread, which is the fastest.
bool has_wide_kernels();

// How many kernels this process has put on streams so far, those that graphs repeat not counted.
std::uint64_t kernels_submitted();

}  // namespace hip_on_cpu

#pragma GCC visibility pop
