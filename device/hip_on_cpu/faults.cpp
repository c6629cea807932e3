// SPDX-License-Identifier: Apache-2.0
// When a kernel fails (abort, a trap, a bad address, an exception): one line that says where, then
// the end.
// Invariant: only faults in kernels print a line. A signal that the program or a sanitizer handles
// is left to it.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "block.hpp"
#include "hip/on_cpu/for_meshmem.h"
#include "launch.hpp"

namespace hip_on_cpu {
namespace {

// Names of functions are found on it. Below it is a guard as large as a page is on any machine.
constexpr std::size_t kSignalStack = 256 * 1024, kSignalGuard = 64 * 1024;

struct Fault {
  int signal;
  const char* what;
  bool is_access = false;
};
constexpr Fault kFaults[] = {
    {SIGABRT, "abort"},
    {SIGILL, "trap"},
    {SIGTRAP, "trap"},
    {SIGFPE, "arithmetic exception, as in a division by zero"},
    {SIGSEGV, "or the thread's stack is full", true},
    {SIGBUS, "or memory that the machine does not have", true},
};

std::atomic<void (*)()> called_at_faults{nullptr};
std::atomic<void (*)(const void*)> called_at_bad_addresses{nullptr};
std::atomic<void (*)(int, siginfo_t*, void*)> handler_of_host{nullptr};

// Runs in signal handlers: snprintf of numbers and names takes no lock and no memory. `address`:
// the bad address that the kernel has used, if it is known.
void print_place(const char* what, const ThreadState& thread,
                 const void* const* address = nullptr) {
  const BlockState& block = *thread.block;
  char line[512];
  const int length =
      std::snprintf(line, sizeof(line),
                    "meshmem: kernel %s ended by: %s; block (%u, %u, %u), thread (%u, %u, %u)\n",
                    block.runner->launch()->launch.kernel.name, what, block.block.x, block.block.y,
                    block.block.z, thread.index.x, thread.index.y, thread.index.z);
  const auto size = std::min(sizeof(line) - 1, static_cast<std::size_t>(length));
  if (write(STDERR_FILENO, line, size) < 0) return;  // nowhere to say it
  if (address) show_bad_address(*address);
  if (&thread != current_thread) return;  // the stack is another thread's
  if (void (*const function)() = called_at_faults) function();
}

// Kernels often fail in many threads at once: the first one reports and ends the process, and
// others never return from here. False if the first one comes again: it has failed while it
// reported.
bool is_first() {
  static std::atomic<pid_t> first{0};
  pid_t who = 0;
  if (first.compare_exchange_strong(who, gettid())) return true;
  while (who != gettid()) pause();
  return false;
}

// "bad address 0x10, or the thread's stack is full". The processor gives no address if the number
// cannot be one.
void print_fault(const Fault& fault, const siginfo_t& about) {
  char what[128];
  const bool has_address = fault.is_access && about.si_code > 0 && about.si_code != SI_KERNEL;
  const void* const address = about.si_addr;
  if (has_address) {
    std::snprintf(what, sizeof(what), "bad address %p, %s", address, fault.what);
  } else {
    std::snprintf(what, sizeof(what), "%s%s", fault.is_access ? "bad address, " : "", fault.what);
  }
  print_place(what, *current_thread, has_address ? &address : nullptr);
}

void handle(int number, siginfo_t* about, void* context) {
  auto* const host = handler_of_host.load();
  if (host && !in_kernel() && (number == SIGSEGV || number == SIGBUS))
    return host(number, about, context);
  if (in_kernel() && is_first()) {
    for (const Fault& fault : kFaults) {
      if (fault.signal == number) print_fault(fault, *about);
    }
  }
  // Raised again, the signal ends the process as it would have without this handler.
  signal(number, SIG_DFL);
  raise(number);
}

void install(int number) {
  struct sigaction action;
  if (sigaction(number, nullptr, &action) != 0) return;
  const bool is_of_host = action.sa_flags & SA_SIGINFO && action.sa_sigaction == handler_of_host;
  if (action.sa_handler != SIG_DFL && !is_of_host) return;
  std::memset(&action, 0, sizeof(action));
  action.sa_sigaction = handle;
  action.sa_flags = static_cast<int>(SA_SIGINFO | SA_ONSTACK | SA_NODEFER);
  sigaction(number, &action, nullptr);
}

struct SignalStack {
  SignalStack() {
    stack_t stack{};
    if (sigaltstack(nullptr, &stack) != 0 || (stack.ss_flags & SS_DISABLE) == 0)
      return;  // a sanitizer has one
    memory = mmap(nullptr, kSignalGuard + kSignalStack, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    mprotect(memory, kSignalGuard, PROT_NONE);
    stack.ss_sp = static_cast<char*>(memory) + kSignalGuard;
    stack.ss_size = kSignalStack;
    stack.ss_flags = 0;
    sigaltstack(&stack, nullptr);
  }
  ~SignalStack() {
    if (memory == MAP_FAILED) return;
    stack_t off{};
    off.ss_flags = SS_DISABLE;
    sigaltstack(&off, nullptr);
    munmap(memory, kSignalGuard + kSignalStack);
  }
  void* memory = MAP_FAILED;
};

}  // namespace

void call_at_faults(void (*function)()) { called_at_faults = function; }

void call_at_faults_of_host(void (*handler)(int, siginfo_t*, void*)) { handler_of_host = handler; }

void call_at_bad_addresses(void (*function)(const void* address)) {
  called_at_bad_addresses = function;
}

void show_bad_address(const void* address) {
  if (void (*const function)(const void*) = called_at_bad_addresses) function(address);
}

void fail_in_kernel(const char* what, const ThreadState* thread) {
  if (thread || in_kernel()) {
    if (is_first()) print_place(what, thread ? *thread : *current_thread);
  } else {
    std::fprintf(stderr, "meshmem: a kernel cannot be run: %s\n", what);
  }
  signal(SIGABRT, SIG_DFL);
  std::abort();
}

void refuse_in_kernel(const char* routine) {
  char text[256];
  std::snprintf(text, sizeof(text), "a call of %s, which is for the host alone", routine);
  fail_in_kernel(text);
}

void catch_faults_in_kernels() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const Fault& fault : kFaults) install(fault.signal);
  });
}

void use_signal_stack() { thread_local const SignalStack stack; }

}  // namespace hip_on_cpu
