// SPDX-License-Identifier: Apache-2.0
//
// How much has been given to something that completes it later, a stream or a transport, and how
// much of that has been seen to be done.
// Invariant: work is counted as issued after the other side has it, so fence and quiet, which make
// one comparison where nothing is under way, never return too early. Counted by gpu/ and
// transport/.
#ifndef MESHMEM_BASE_WAITING_PENDING_WORK_HPP_
#define MESHMEM_BASE_WAITING_PENDING_WORK_HPP_

#include <atomic>
#include <cstdint>

namespace meshmem {

struct PendingWork {
  std::atomic<std::uint64_t> issued{0};
  std::atomic<std::uint64_t> completed{0};

  // Acquires: another thread may have done the work, and it is done for this one too.
  bool is_under_way() const {
    return issued.load(std::memory_order_relaxed) != completed.load(std::memory_order_acquire);
  }
  void count_issued() { issued.fetch_add(1, std::memory_order_release); }
  // All that had been issued when `count` was read is done.
  void note_completed(std::uint64_t count) {
    std::uint64_t before = completed.load(std::memory_order_relaxed);
    while (before < count &&
           !completed.compare_exchange_weak(before, count, std::memory_order_release)) {
    }
  }
};
inline constinit PendingWork pending_work;

// Waits for what kernels that have ended have handed to the proxy; nullptr: there is nothing of the
// kind. While it is set, one operation counts as issued and never as completed, so that quiet asks.
using CompleteKernels = void (*)(const char* routine);
inline constinit std::atomic<CompleteKernels> complete_kernels{nullptr};

}  // namespace meshmem

#endif  // MESHMEM_BASE_WAITING_PENDING_WORK_HPP_
