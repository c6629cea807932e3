// SPDX-License-Identifier: Apache-2.0
// Starts threads, and ends the process when memory runs out: no exception of this library's
// allocations reaches a program through HIP's C API.
// Invariant: the functions at the end serve this library alone. The linker (--wrap) sends its calls
// of operator new to them, and __real_* to the operators that the program has. So memory comes from
// those and goes back to them, also where the C++ runtime is linked statically.
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

[[noreturn]] void end_without_memory() {
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

// operator new(size_t), operator new[](size_t), operator new(size_t, align_val_t)
extern "C" {
void* __real__Znwm(std::size_t bytes);
void* __real__Znam(std::size_t bytes);
void* __real__ZnwmSt11align_val_t(std::size_t bytes, std::align_val_t alignment);
void* __wrap__Znwm(std::size_t bytes);
void* __wrap__Znam(std::size_t bytes);
void* __wrap__ZnwmSt11align_val_t(std::size_t bytes, std::align_val_t alignment);
}

void* __wrap__Znwm(std::size_t bytes) try {
  return __real__Znwm(bytes);
} catch (const std::bad_alloc&) {
  hip_on_cpu::end_without_memory();
}
void* __wrap__Znam(std::size_t bytes) try {
  return __real__Znam(bytes);
} catch (const std::bad_alloc&) {
  hip_on_cpu::end_without_memory();
}
void* __wrap__ZnwmSt11align_val_t(std::size_t bytes, std::align_val_t alignment) try {
  return __real__ZnwmSt11align_val_t(bytes, alignment);
} catch (const std::bad_alloc&) {
  hip_on_cpu::end_without_memory();
}
