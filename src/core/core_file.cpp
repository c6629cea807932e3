// SPDX-License-Identifier: Apache-2.0
//
// Stack, heap, abort.
// Invariant: works in a signal handler. GPUs end kernels by themselves, so that there is nothing to
// show of those.
#include "core/core_file.hpp"

#include <csignal>
#include <cstdlib>

#include "base/error.hpp"
#include "base/stack.hpp"
#include "memory/symmetric_heap.hpp"

#if defined(MESHMEM_TARGET_CPU)
#include <hip/on_cpu/faults.h>
#endif

namespace meshmem {
namespace {

SymmetricHeap* shown_heap;

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

}  // namespace meshmem
