// SPDX-License-Identifier: Apache-2.0
//
// Stack, heap, abort; and the record of failed allocations for kernels on processors.
// Invariant: works in a signal handler. GPUs end kernels by themselves, so that there is nothing to
// show of those.
#include "core/faults.hpp"

#include <signal.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "base/code_place.hpp"
#include "base/error.hpp"
#include "memory/address_map.hpp"
#include "memory/failed_allocation.hpp"
#include "memory/symmetric_heap.hpp"

#if defined(MESHMEM_TARGET_CPU)
#include <hip/on_cpu/for_meshmem.h>
#endif

namespace meshmem {
namespace {

SymmetricHeap* shown_heap;

// The names are looked up with locks and memory that this thread may have been in the middle of.
constexpr unsigned kSecondsAtMost = 10;

// Ends, also in a signal handler of a thread that held locks. All lines are one write, so that
// lines of several PEs do not mix.
void print_stack() {
  sigset_t end;  // which the program may have blocked
  sigemptyset(&end);
  sigaddset(&end, SIGALRM);
  pthread_sigmask(SIG_UNBLOCK, &end, nullptr);
  signal(SIGALRM, SIG_DFL);
  alarm(kSecondsAtMost);
  print_line(stack_text());
  alarm(0);
}

void show_where() {
  print_stack();
  shown_heap->put_in_core_file();
}

}  // namespace

void end_by_core_files(SymmetricHeap& heap) {
  shown_heap = &heap;
  set_abort_job([](int) {
    show_where();
    std::signal(SIGABRT, SIG_DFL);  // a handler of the program's must not end it otherwise
    std::abort();
  });
#if defined(MESHMEM_TARGET_CPU)
  hip_on_cpu::call_at_faults(show_where);
#endif
}

void explain_kernel_faults() {
#if defined(MESHMEM_TARGET_CPU)
  hip_on_cpu::call_at_bad_addresses(
      [](const void* address) { print_failed_allocation_at(address, address_map.my_pe); });
#endif
}

}  // namespace meshmem
