// SPDX-License-Identifier: Apache-2.0
//
// Pauses of a thread that polls, between two looks: relax() keeps the core, yield_core() lets other
// threads run. Called by waits and by schedule fuzzing.
#ifndef MESHMEM_BASE_WAITING_RELAX_HPP_
#define MESHMEM_BASE_WAITING_RELAX_HPP_

#include <sched.h>

namespace meshmem {

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

inline void yield_core() { sched_yield(); }

}  // namespace meshmem

#endif  // MESHMEM_BASE_WAITING_RELAX_HPP_
