// SPDX-License-Identifier: Apache-2.0
// Fibers: stacks that one OS thread switches between. If the program has a sanitizer, the sanitizer
// is told of every switch.
// Invariant: a fiber runs on the OS thread that made it. Below the stack of a fiber from
// make_fiber() lies a guard, a page that faults when touched. Fibers beyond kMaxGuards (fiber.cpp)
// have no guard. Used by block.cpp only.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>

namespace hip_on_cpu {

struct ThreadState;

// Members that every switch touches come first, so that they lie in one cache line.
struct alignas(64) Fiber {
  boost::context::detail::fcontext_t context =
      nullptr;                    // where it continues; not valid while it runs
  Fiber* next = nullptr;          // in the one list that it is in
  ThreadState* thread = nullptr;  // the thread of a GPU kernel that it runs
  const void* stack = nullptr;    // its lowest address
  std::size_t stack_size = 0;
  void* tsan_fiber = nullptr;
  void* asan_stack = nullptr;
  void* mapping = nullptr;  // null for an OS thread's own stack
  std::size_t mapping_size = 0;
  bool has_guard = false;
  unsigned valgrind_stack = 0;  // the stack's number in valgrind
};

// A first-in-first-out list through Fiber::next.
class FiberList {
 public:
  bool empty() const { return first_ == nullptr; }
  unsigned size() const { return size_; }
  void push(Fiber* fiber);
  Fiber* pop();  // null when empty
  void take_all(FiberList& other);

 private:
  Fiber *first_ = nullptr, *last_ = nullptr;
  unsigned size_ = 0;
};

// Makes `fiber` stand for the stack that the caller runs on, so that others can switch back to it.
void adopt_current_stack(Fiber& fiber);

// Makes a fiber; the first switch to it calls body(), which never returns. All fibers of an OS
// thread have the same body. False if there is no memory for the stack, or if ThreadSanitizer would
// follow too many fibers. `number` differs between the fibers of a block.
bool make_fiber(Fiber& fiber, unsigned number, void (*body)());
void destroy_fiber(Fiber& fiber);

// Continues in `to`, and returns when someone switches to `from` again.
void switch_fiber(Fiber& from, Fiber& to);
// The same when `from` never runs again.
[[noreturn]] void leave_fiber(Fiber& from, Fiber& to);

}  // namespace hip_on_cpu
