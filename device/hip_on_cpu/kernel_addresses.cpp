// SPDX-License-Identifier: Apache-2.0
// Finds a kernel's type by its address. A program that casts a kernel to void* notes the type here.
// Invariant: entries are only added, without a lock, so that a child of fork() can use those of its
// parent. Called by casts that oshhip has compiled, and by launches.
#include <atomic>
#include <cstdint>
#include <cstdio>

#include "hip/on_cpu/launch.h"

namespace hip_on_cpu {
namespace {

struct NotedKernel {
  const void* address;
  std::atomic<BindByAddress> bind;
  NotedKernel* next;
};

constexpr std::size_t kLists = 256;
std::atomic<NotedKernel*> noted_kernels[kLists];

std::atomic<NotedKernel*>& list_of(const void* kernel) {
  return noted_kernels[reinterpret_cast<std::uintptr_t>(kernel) / 16 % kLists];
}

NotedKernel* find_noted(NotedKernel* first, const void* kernel) {
  while (first != nullptr && first->address != kernel) first = first->next;
  return first;
}

}  // namespace

void note_kernel(const void* kernel, BindByAddress bind) {
  std::atomic<NotedKernel*>& list = list_of(kernel);
  NotedKernel* first = list.load(std::memory_order_acquire);
  if (NotedKernel* known = find_noted(first, kernel)) {
    known->bind.store(bind, std::memory_order_relaxed);  // another library may be loaded there now
    return;
  }
  auto* const added = new NotedKernel{kernel, {bind}, first};
  // Two threads may both add the same kernel; a second entry does no harm.
  while (!list.compare_exchange_weak(added->next, added, std::memory_order_acq_rel)) {
  }
}

BoundKernel bind_by_address(const void* kernel, void** arguments) {
  const NotedKernel* known = find_noted(list_of(kernel).load(std::memory_order_acquire), kernel);
  if (known != nullptr) return known->bind.load(std::memory_order_relaxed)(kernel, arguments);
  if (kernel != nullptr)
    std::fprintf(stderr,
                 "meshmem: nothing tells the parameters of the kernel at %p: compile the source "
                 "that casts it to void* by oshhip\n",
                 kernel);
  return {"a kernel launched by its address", nullptr, [](void*) {}, nullptr};
}

}  // namespace hip_on_cpu
