// SPDX-License-Identifier: Apache-2.0
//
// Short random delays before the steps by which PEs synchronize, so that rare orders of events come
// up. Examples are a late reader, a late flag, and a PE that is two operations ahead.
// Invariant: costs nothing where MESHMEM_SCHEDULE_FUZZING is 0, as in installed libraries: a
// barrier is a few stores and loads, so even one load more would show. Called by waits, fences and
// flags.
#ifndef MESHMEM_BASE_WAITING_SCHEDULE_FUZZING_HPP_
#define MESHMEM_BASE_WAITING_SCHEDULE_FUZZING_HPP_

#include <cstdint>

namespace meshmem {

#if MESHMEM_SCHEDULE_FUZZING

inline constexpr bool kHasScheduleFuzzing = true;

// From now on the threads of this process wait at random. A thread's delays follow from the seed,
// the PE and how many threads came to their first step before it. Called before other threads wait.
void start_schedule_fuzzing(std::uint64_t seed, int pe);
void fuzz_schedule();

#else

inline constexpr bool kHasScheduleFuzzing = false;
inline void start_schedule_fuzzing(std::uint64_t, int) {}
inline void fuzz_schedule() {}

#endif

}  // namespace meshmem

#endif  // MESHMEM_BASE_WAITING_SCHEDULE_FUZZING_HPP_
