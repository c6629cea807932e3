// SPDX-License-Identifier: Apache-2.0
//
// Stack, heap, abort; and the record of failed allocations for kernels on processors.
// Invariant: works in a signal handler. GPUs end kernels by themselves, so that there is nothing to
// show of those.
#include "core/faults.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/code_place.hpp"
#include "base/error.hpp"
#include "bootstrap/job.hpp"
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
  if (shown_heap) shown_heap->put_in_core_file();
}

std::uintptr_t stack_pointer(const void* context) {
  const mcontext_t& registers = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(registers.gregs[REG_RSP]);
#elif defined(__aarch64__)
  return registers.sp;
#else
#error "which register is the stack pointer on this processor?"
#endif
}

// Says what the bad address is, as far as the library knows.
std::string text_of_address(const void* address, const void* context) {
  constexpr std::uintptr_t kFrame = 1 << 20;  // what a function may take of the stack at once
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (at - (stack_pointer(context) - kFrame) < 2 * kFrame)
    return "the stack is full (`ulimit -s` raises the limit)";
  for (const Segment* segment : {&address_map.heap, &address_map.statics})
    for (int pe = 0; pe < static_cast<int>(address_map.n_pes); ++pe)
      if (const std::byte* const copy = segment->copy_of_pe[pe];
          is_mapped(copy) && at - reinterpret_cast<std::uintptr_t>(copy) < segment->bytes)
        return fmt::format("symmetric memory of PE {}, for which the machine has no memory", pe);
  return failed_allocation_at(address).value_or("the program has no such memory");
}

void explain_fault(int number, siginfo_t* about, void* context) {
  if (!is_child_of_pe()) {
    print_line(fmt::format("{} at {}: {}", strsignal(number), about->si_addr,
                           text_of_address(about->si_addr, context)));
    show_where();
  }
  signal(number, SIG_DFL);  // the same again ends the process as it would have without us
  raise(number);
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

void explain_faults() {
  constexpr std::size_t kStack = 256 * 1024;  // debug information is read on it
  stack_t stack{};
  if (sigaltstack(nullptr, &stack) == 0 && (stack.ss_flags & SS_DISABLE)) {
    void* const memory =
        mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack = {.ss_sp = memory, .ss_flags = 0, .ss_size = kStack};
    if (memory != MAP_FAILED) sigaltstack(&stack, nullptr);
  }
  for (const int number : {SIGSEGV, SIGBUS}) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
    action.sa_sigaction = explain_fault;
    action.sa_flags = static_cast<int>(SA_SIGINFO | SA_ONSTACK | SA_NODEFER);
    sigaction(number, &action, nullptr);
  }
#if defined(MESHMEM_TARGET_CPU)
  hip_on_cpu::call_at_faults_of_host(explain_fault);
  hip_on_cpu::call_at_bad_addresses(
      [](const void* address) { print_failed_allocation_at(address, address_map.my_pe); });
#endif
}

}  // namespace meshmem
