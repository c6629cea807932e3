// SPDX-License-Identifier: Apache-2.0
//
// Prints the stack, puts the heap in the core file, and ends the process. For a kernel on a
// processor, also prints the failed allocation whose NULL it has used.
// Invariant: works in a signal handler. GPUs end their kernels themselves, so of those there is
// nothing to show.
#include "core/faults.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

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

volatile std::sig_atomic_t ending_signal;

constexpr unsigned kSecondsForStack = 10, kSecondsForPlace = 2;

// Ends the process by signal `number` after `seconds`, unless alarm(0) comes first. Making a text
// may hang, since it takes locks that the interrupted thread may hold.
void end_soon_by(int number, unsigned seconds) {
  ending_signal = number;
  sigset_t ends;  // which the program may have blocked
  sigemptyset(&ends);
  for (const int end : {SIGALRM, number}) sigaddset(&ends, end);
  pthread_sigmask(SIG_UNBLOCK, &ends, nullptr);
  signal(SIGALRM, [](int) {
    signal(ending_signal, SIG_DFL);
    raise(ending_signal);
  });
  alarm(seconds);
}

// Called after end_soon_by(). All lines are one write, so that lines of several PEs do not mix.
void show_where(StackOf whose) {
  print_line(stack_text(whose));
  alarm(0);
  if (shown_heap) shown_heap->put_in_core_file();
}

// Prints where in the program the kernel was. In a job that ends by core files (shown_heap), prints
// the whole stack instead.
[[maybe_unused]] void show_place_in_kernel() {
  end_soon_by(SIGSEGV, shown_heap ? kSecondsForStack : kSecondsForPlace);
  if (shown_heap) return show_where(StackOf::interrupted);
  const std::string place = program_call_text();
  if (!place.empty()) print_line("the kernel was in " + place);
  alarm(0);
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

// Returns how far behind a heap the address is; "" if it is not close. Before a heap, and behind
// all but the machine's last one, there is other memory of the library. Its use causes no fault.
std::string text_of_near_heap(std::uintptr_t at) {
  constexpr std::uintptr_t kNear = 16 << 20;
  const Segment& heap = address_map.heap;
  for (int pe = 0; pe < static_cast<int>(address_map.n_pes); ++pe) {
    if (!is_mapped(heap.copy_of_pe[pe])) continue;
    const auto begin = reinterpret_cast<std::uintptr_t>(heap.copy_of_pe[pe]);
    if (at - begin - heap.bytes < kNear)
      return fmt::format("{} bytes behind the symmetric heap of PE {}", at - begin - heap.bytes,
                         pe);
  }
  return "";
}

// Returns what the bad address is, as far as the library knows.
std::string text_of_address(const siginfo_t& about, const void* context) {
  constexpr std::uintptr_t kFrame = 1 << 20;  // what a function may take of the stack at once
  const void* const address = about.si_addr;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (about.si_signo == SIGSEGV && at - (stack_pointer(context) - kFrame) < kFrame + 4096)
    return "the stack is full (`ulimit -s` raises the limit)";
  for (const Segment* segment : {&address_map.heap, &address_map.statics})
    for (int pe = 0; pe < static_cast<int>(address_map.n_pes); ++pe)
      if (const std::byte* const copy = segment->copy_of_pe[pe];
          is_mapped(copy) && at - reinterpret_cast<std::uintptr_t>(copy) < segment->bytes)
        return fmt::format("symmetric memory of PE {}{}", pe,
                           about.si_signo == SIGBUS ? ", for which the machine has no memory" : "");
  if (auto failed = failed_allocation_at(address)) return *failed;
  if (about.si_signo != SIGSEGV || about.si_code != SEGV_MAPERR)
    return "memory that may not be accessed in this way";
  const std::string near = text_of_near_heap(at);
  return near.empty() ? "the program has no such memory" : near;
}

// If a number cannot be an address, the processor does not report it (SI_KERNEL).
std::string text_of_fault(const siginfo_t& about, const void* context) {
  const char* const name = strsignal(about.si_signo);
  if (about.si_code == SI_KERNEL) return fmt::format("{} at an impossible address", name);
  return fmt::format("{} at {}: {}", name, about.si_addr, text_of_address(about, context));
}

// A stack for the signal handlers of this thread. Its pages have no memory until they are used.
class FaultStack {
 public:
  FaultStack() {
    stack_t stack{};
    if (sigaltstack(nullptr, &stack) != 0 || !(stack.ss_flags & SS_DISABLE)) return;
    memory_ = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack = {.ss_sp = memory_, .ss_flags = 0, .ss_size = kBytes};
    if (memory_ != MAP_FAILED) sigaltstack(&stack, nullptr);
  }
  ~FaultStack() {
    stack_t stack{};
    if (memory_ == MAP_FAILED || sigaltstack(nullptr, &stack) != 0) return;
    const bool is_set = stack.ss_sp == memory_;  // the program has set no other one
    stack.ss_flags = SS_DISABLE;
    if (!is_set || sigaltstack(&stack, nullptr) == 0) munmap(memory_, kBytes);
  }
  FaultStack(const FaultStack&) = delete;
  FaultStack& operator=(const FaultStack&) = delete;

 private:
  static constexpr std::size_t kBytes = 256 * 1024;  // debug information is read on it
  void* memory_ = MAP_FAILED;
};

// Prints lines about a fault, and ends the process. A second fault in here ends it at once. A
// signal that a process has sent gets no line.
void explain_fault(int number, siginfo_t* about, void* context) {
  for (const int fault : {SIGSEGV, SIGBUS}) signal(fault, SIG_DFL);
  if (about->si_code > 0 && !is_child_of_pe()) {
    end_soon_by(number, kSecondsForStack);
    print_line(text_of_fault(*about, context));
    show_where(StackOf::interrupted);
  }
  raise(number);  // ends the process as the fault would have
}

}  // namespace

void end_by_core_files(SymmetricHeap& heap) {
  shown_heap = &heap;
  set_abort_job([](int) {
    end_soon_by(SIGABRT, kSecondsForStack);
    show_where(StackOf::caller);
    std::signal(SIGABRT, SIG_DFL);  // a handler of the program might not let it end
    std::abort();
  });
}

constinit thread_local bool has_taken_fault_stack = false;

void take_fault_stack() {
  has_taken_fault_stack = true;
  static thread_local FaultStack stack;
}

void explain_faults() {
  // For ever: this thread may be the main one, which runs exit handlers after its thread-local
  // objects are gone.
  if (!std::exchange(has_taken_fault_stack, true)) {
    alignas(FaultStack) static std::byte room[sizeof(FaultStack)];
    new (room) FaultStack;
  }
  for (const int number : {SIGSEGV, SIGBUS}) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
    action.sa_sigaction = explain_fault;
    action.sa_flags = static_cast<int>(SA_SIGINFO | SA_ONSTACK | SA_NODEFER);
    sigaction(number, &action, nullptr);
  }
#if defined(MESHMEM_TARGET_CPU)
  hip_on_cpu::call_at_faults(show_place_in_kernel);
  hip_on_cpu::call_at_faults_of_host(explain_fault);
  hip_on_cpu::call_at_bad_addresses(
      [](const void* address) { print_failed_allocation_at(address, address_map.my_pe); });
#endif
}

}  // namespace meshmem
