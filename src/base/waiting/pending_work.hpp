// SPDX-License-Identifier: Apache-2.0
//
// Counts the work that was given to streams and transports, which complete it later, and how much
// of it has been seen to be done.
// Invariant: work is counted as issued once the stream or the transport has it. Fence and quiet
// make one comparison if nothing is under way, and never return too early. Counted by gpu/ and
// transport/.
#ifndef MESHMEM_BASE_WAITING_PENDING_WORK_HPP_
#define MESHMEM_BASE_WAITING_PENDING_WORK_HPP_

#include <atomic>
#include <cstdint>

namespace meshmem {

struct PendingWork {
  std::atomic<std::uint64_t> issued{0};
  std::atomic<std::uint64_t> completed{0};

  // Acquire: work that another thread has seen to be done is done for this thread too.
  bool is_under_way() const {
    return issued.load(std::memory_order_relaxed) != completed.load(std::memory_order_acquire);
  }
  void count_issued() { issued.fetch_add(1, std::memory_order_release); }
  // All work that had been issued when `count` was read from `issued` is done.
  void note_completed(std::uint64_t count) {
    std::uint64_t before = completed.load(std::memory_order_relaxed);
    while (before < count &&
           !completed.compare_exchange_weak(before, count, std::memory_order_release)) {
    }
  }
};
inline constinit PendingWork pending_work;

// A function that waits for operations that finished kernels have handed to the proxy; nullptr as
// long as nothing has woken the proxy. While it is set, one operation counts as issued and not as
// completed, so that quiet calls the function.
using CompleteKernels = void (*)(const char* routine);
inline constinit std::atomic<CompleteKernels> complete_kernels{nullptr};

}  // namespace meshmem

#endif  // MESHMEM_BASE_WAITING_PENDING_WORK_HPP_
