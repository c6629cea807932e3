// SPDX-License-Identifier: Apache-2.0
// Threads, and where memory ends: no exception of this library's allocations reaches a program
// through HIP's C API.
// Invariant: the operators serve this library alone. Its list of exported names hides them; memory
// comes from the program's own, and goes back to them.
#include "os_thread.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

namespace hip_on_cpu {
namespace {

std::atomic<bool> complained{false};

void* or_end(void* memory) {
  if (memory != nullptr) return memory;
  std::fputs("meshmem: there is no memory left for HIP on processors (malloc gives none)\n",
             stderr);
  _exit(1);
}

}  // namespace

bool try_start_os_thread(std::function<void()> body) {
  try {
    std::thread(std::move(body)).detach();
    return true;
  } catch (const std::system_error& refusal) {
    if (complained.exchange(true)) return false;
    std::fprintf(stderr,
                 "meshmem: no more threads for streams and blocks of kernels (%s); raise the limit "
                 "(`ulimit -u`, or pids.max of the control group)\n",
                 refusal.what());
    return false;
  }
}

}  // namespace hip_on_cpu

void* operator new(std::size_t bytes) {
  return hip_on_cpu::or_end(::operator new(bytes, std::nothrow));
}
void* operator new[](std::size_t bytes) {
  return hip_on_cpu::or_end(::operator new[](bytes, std::nothrow));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return hip_on_cpu::or_end(::operator new(bytes, alignment, std::nothrow));
}
