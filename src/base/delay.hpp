// SPDX-License-Identifier: Apache-2.0
//
// Short random delays before the steps by which PEs synchronize, so that the orders of events that
// are rare come up: a reader that is late, a flag that is late, a PE that is two operations ahead.
// Invariant: costs nothing where MESHMEM_DELAYS is 0, what is installed: a barrier is a few stores
// and loads, and even one load more for a switch would show in it. Called by waits, fences and flags.
#ifndef MESHMEM_BASE_DELAY_HPP_
#define MESHMEM_BASE_DELAY_HPP_

#include <cstdint>

namespace meshmem {

#if MESHMEM_DELAYS

inline constexpr bool kHasDelays = true;

// From now on the threads of this process delay, each in a way that follows from the seed, the PE
// and the order in which threads came to their first step. Called before other threads wait.
void start_delays(std::uint64_t seed, int pe);
void delay_step();

#else

inline constexpr bool kHasDelays = false;
inline void start_delays(std::uint64_t, int) {}
inline void delay_step() {}

#endif

}  // namespace meshmem

#endif  // MESHMEM_BASE_DELAY_HPP_
