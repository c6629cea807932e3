// SPDX-License-Identifier: Apache-2.0
// Operations of a wave: barrier, shuffles, votes. All threads of the wave that have not exited, and
// that do not wait at __syncthreads, take part; they meet at the operation.
// Invariant: threads of one wave that meet in different operations end the program (block.cpp finds
// it). Included by hip_runtime.h only.
#pragma once

#include <cstring>
#include <type_traits>

#include "hip/on_cpu/thread.h"

#pragma GCC visibility push(default)
namespace hip_on_cpu {

enum class WaveOperation { kBarrier, kShuffle, kVote };

struct WaveValues {
  std::uint64_t of_lane[warpSize];
  std::uint64_t lanes;  // those that took part
  WaveOperation operation;
};

template <int lanes>
struct Lanes {};

// Waits for the other lanes; what it returns stays until this thread's next operation of the wave.
// A program compiled for waves of another size does not link.
const WaveValues& meet_in_wave(WaveOperation operation, std::uint64_t value, Lanes<warpSize>);

inline void wave_barrier() { meet_in_wave(WaveOperation::kBarrier, 0, {}); }
inline int lane() { return static_cast<int>(current_thread->rank % warpSize); }

template <typename T>
inline T shuffle(T value, int source) {
  static_assert(std::is_trivially_copyable<T>::value && sizeof(T) <= 8,
                "a shuffle moves up to 8 bytes");
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  const WaveValues& values = meet_in_wave(WaveOperation::kShuffle, bits, {});
  if ((values.lanes >> source & 1) == 0) return value;  // undefined on GPUs
  std::memcpy(&value, &values.of_lane[source], sizeof(T));
  return value;
}

inline std::uint64_t vote(bool mine, std::uint64_t* lanes) {
  const WaveValues& values = meet_in_wave(WaveOperation::kVote, mine ? 1 : 0, {});
  std::uint64_t result = 0;
  for (int i = 0; i < warpSize; ++i) {
    if (values.lanes >> i & 1) result |= values.of_lane[i] << i;
  }
  *lanes = values.lanes;
  return result;
}

}  // namespace hip_on_cpu
#pragma GCC visibility pop

inline void __syncwarp() { hip_on_cpu::wave_barrier(); }

// `width` is a power of two: the wave falls into groups of so many lanes, and `source` counts in
// the group.
template <typename T>
inline T __shfl(T value, int source, int width = warpSize) {
  const int first = hip_on_cpu::lane() & ~(width - 1);
  return hip_on_cpu::shuffle(value, first + (source & (width - 1)));
}
template <typename T>
inline T __shfl_xor(T value, int mask, int width = warpSize) {
  const int self = hip_on_cpu::lane();
  const int source = self ^ mask;
  const int end = (self & ~(width - 1)) + width;
  return hip_on_cpu::shuffle(value, source < end ? source : self);
}
template <typename T>
inline T __shfl_up(T value, unsigned distance, int width = warpSize) {
  const int self = hip_on_cpu::lane();
  const int source = self - static_cast<int>(distance);
  return hip_on_cpu::shuffle(value, source >= (self & ~(width - 1)) ? source : self);
}
template <typename T>
inline T __shfl_down(T value, unsigned distance, int width = warpSize) {
  const int self = hip_on_cpu::lane();
  const unsigned in_group = static_cast<unsigned>(self & (width - 1)) + distance;
  return hip_on_cpu::shuffle(
      value, in_group < static_cast<unsigned>(width) ? self + static_cast<int>(distance) : self);
}

inline unsigned long long __ballot(int predicate) {
  std::uint64_t lanes;
  return hip_on_cpu::vote(predicate != 0, &lanes);
}
inline int __any(int predicate) { return __ballot(predicate) != 0; }
inline int __all(int predicate) {
  std::uint64_t lanes;
  return hip_on_cpu::vote(predicate != 0, &lanes) == lanes;
}
