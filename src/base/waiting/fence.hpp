// SPDX-License-Identifier: Apache-2.0
//
// The processor fences of the library, by their purpose.
// Invariant: only the tools use other fences; the library's own flags are release stores and
// acquire loads. ThreadSanitizer does not know fences. It would not see what they order either:
// stores that other processes read.
#ifndef MESHMEM_BASE_WAITING_FENCE_HPP_
#define MESHMEM_BASE_WAITING_FENCE_HPP_

#include <atomic>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "base/waiting/schedule_fuzzing.hpp"

namespace meshmem {

// shmem_fence: what this thread has stored so far is seen before what it stores next.
inline void order_stores() {
  fuzz_schedule();
  std::atomic_thread_fence(std::memory_order_release);
}

// shmem_quiet: what this thread has stored so far is seen by all before it goes on.
inline void complete_stores() {
  fuzz_schedule();
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

// Makes this thread's earlier stores leave the processor before its next ones, also those to
// write-combining memory. The fences above promise nothing for such memory.
inline void send_gathered_stores() {
#if defined(__x86_64__)
  _mm_sfence();
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}
// The same, and before what this thread loads next.
inline void send_gathered_stores_before_loads() {
#if defined(__x86_64__)
  _mm_mfence();
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace meshmem

#endif  // MESHMEM_BASE_WAITING_FENCE_HPP_
