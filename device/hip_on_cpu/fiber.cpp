// SPDX-License-Identifier: Apache-2.0
// Makes the stacks, switches between them, and reports both to AddressSanitizer and
// ThreadSanitizer.
// Invariant: every switch is announced to the sanitizers before it, and confirmed on arrival.
#include "fiber.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <utility>

#if __has_include(<valgrind/valgrind.h>)  // Debian's package valgrind has it; ./mesh installs it
#include <valgrind/valgrind.h>
#else
#define VALGRIND_STACK_REGISTER(bottom, top) 0
#define VALGRIND_STACK_DEREGISTER(number)
#endif

// These functions are weak, so they are null in a program without the sanitizer. One library serves
// programs with and without sanitizers.
extern "C" {
__attribute__((weak)) void __sanitizer_start_switch_fiber(void** old_stack, const void* bottom,
                                                          std::size_t size);
__attribute__((weak)) void __sanitizer_finish_switch_fiber(void* stack, const void** old_bottom,
                                                           std::size_t* old_size);
__attribute__((weak)) void* __tsan_get_current_fiber(void);
__attribute__((weak)) void* __tsan_create_fiber(unsigned flags);
__attribute__((weak)) void __tsan_destroy_fiber(void* fiber);
__attribute__((weak)) void __tsan_switch_to_fiber(void* fiber, unsigned flags);
}

namespace hip_on_cpu {
namespace {

namespace context = boost::context::detail;

constexpr std::size_t kGuard = 64 * 1024;  // as large as a page is on any machine
constexpr std::size_t kStack = 128 * 1024;
constexpr std::size_t kStackUnderSanitizers = 512 * 1024;
// A guard is a page below a stack that faults when touched. It splits a mapping, and Linux allows a
// process 65530 mappings. So stacks beyond this number have no guard.
constexpr int kMaxGuards = 20000;
std::atomic<int> guards{0};
// ThreadSanitizer follows at most about 8000 threads. With more it ends the program without a clear
// message.
constexpr int kMaxTsanFibers = 6000;
std::atomic<int> tsan_fibers{0};
// Stacks begin at kOffsets different offsets, kOffsetStep bytes apart. So they do not all compete
// for the same lines of the cache.
constexpr std::size_t kOffsets = 16, kOffsetStep = 256;

std::size_t stack_size() {
  const bool sanitized =
      __sanitizer_start_switch_fiber != nullptr || __tsan_create_fiber != nullptr;
  return sanitized ? kStackUnderSanitizers : kStack;
}

// `old_stack` is null if the fiber that is left never runs again.
void announce_switch(void** old_stack, const Fiber& to) {
  if (__sanitizer_start_switch_fiber != nullptr)
    __sanitizer_start_switch_fiber(old_stack, to.stack, to.stack_size);
  if (__tsan_switch_to_fiber != nullptr) __tsan_switch_to_fiber(to.tsan_fiber, 0);
}

void confirm_arrival(void* asan_stack, context::transfer_t arrival) {
  Fiber& previous = *static_cast<Fiber*>(arrival.data);
  previous.context = arrival.fctx;
  if (__sanitizer_finish_switch_fiber == nullptr) return;
  const void* bottom = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(asan_stack, &bottom, &size);
  if (previous.mapping == nullptr) {  // the OS thread's own stack: known only now
    previous.stack = bottom;
    previous.stack_size = size;
  }
}

// Set by make_fiber() and read at the first switch: all fibers of an OS thread have this body.
thread_local void (*body_of_new_fiber)() = nullptr;

void enter(context::transfer_t arrival) {
  confirm_arrival(nullptr, arrival);
  body_of_new_fiber();
  std::abort();  // a body never returns
}

void guard_stack(Fiber& fiber) {
  if (guards.fetch_add(1, std::memory_order_relaxed) < kMaxGuards &&
      mprotect(fiber.mapping, kGuard, PROT_NONE) == 0) {
    fiber.has_guard = true;
  } else {
    guards.fetch_sub(1, std::memory_order_relaxed);
  }
}

}  // namespace

void FiberList::push(Fiber* fiber) {
  fiber->next = nullptr;
  (last_ == nullptr ? first_ : last_->next) = fiber;
  last_ = fiber;
  ++size_;
}

Fiber* FiberList::pop() {
  Fiber* fiber = first_;
  if (fiber == nullptr) return nullptr;
  first_ = fiber->next;
  if (first_ == nullptr) last_ = nullptr;
  --size_;
  return fiber;
}

void FiberList::take_all(FiberList& other) {
  if (other.empty()) return;
  (last_ == nullptr ? first_ : last_->next) = other.first_;
  last_ = other.last_;
  size_ += other.size_;
  other = FiberList();
}

void adopt_current_stack(Fiber& fiber) {
  if (__tsan_get_current_fiber != nullptr) fiber.tsan_fiber = __tsan_get_current_fiber();
}

bool make_fiber(Fiber& fiber, unsigned number, void (*body)()) {
  if (__tsan_create_fiber != nullptr && tsan_fibers.fetch_add(1) >= kMaxTsanFibers) return false;
  fiber.mapping_size = kGuard + stack_size();
  fiber.mapping = mmap(nullptr, fiber.mapping_size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (fiber.mapping == MAP_FAILED) return false;
  guard_stack(fiber);
  char* const bottom = static_cast<char*>(fiber.mapping) + kGuard;
  fiber.stack = bottom;
  fiber.stack_size = stack_size();
  fiber.valgrind_stack = VALGRIND_STACK_REGISTER(bottom, bottom + fiber.stack_size);
  char* const top = bottom + fiber.stack_size - number % kOffsets * kOffsetStep;
  fiber.context = context::make_fcontext(top, static_cast<std::size_t>(top - bottom), &enter);
  if (__tsan_create_fiber != nullptr) fiber.tsan_fiber = __tsan_create_fiber(0);
  body_of_new_fiber = body;
  return true;
}

void destroy_fiber(Fiber& fiber) {
  if (__tsan_destroy_fiber != nullptr) {
    __tsan_destroy_fiber(fiber.tsan_fiber);
    tsan_fibers.fetch_sub(1);
  }
  VALGRIND_STACK_DEREGISTER(fiber.valgrind_stack);
  munmap(fiber.mapping, fiber.mapping_size);
  if (fiber.has_guard) guards.fetch_sub(1, std::memory_order_relaxed);
}

void switch_fiber(Fiber& from, Fiber& to) {
  announce_switch(&from.asan_stack, to);
  confirm_arrival(from.asan_stack, context::jump_fcontext(to.context, &from));
}

void leave_fiber(Fiber& from, Fiber& to) {
  announce_switch(nullptr, to);
  context::jump_fcontext(to.context, &from);
  std::abort();
}

}  // namespace hip_on_cpu
