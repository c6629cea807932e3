// SPDX-License-Identifier: Apache-2.0
// Operations of a wave: barrier, shuffles, votes. One without a mask is of all threads of the wave
// that have not exited and do not wait at __syncthreads. One with a mask (_sync) is of the lanes
// that the mask names, except exited ones. The threads meet at the operation.
// Invariant: threads that meet in different operations, or wait for lanes that never come, end the
// program (wave.cpp checks). Included by hip_runtime.h only.
#pragma once

#include <cstring>
#include <type_traits>

#include "hip/on_cpu/thread.h"

#pragma GCC visibility push(default)
namespace hip_on_cpu {

enum class WaveOperation { kBarrier, kShuffle, kVote, kMatch };

struct WaveValues {
  std::uint64_t of_lane[warpSize];
  std::uint64_t lanes;  // those that took part
  WaveOperation operation;
};

inline constexpr std::uint64_t kAllLanes = ~std::uint64_t{0} >> (64 - warpSize);

template <int lanes>
struct Lanes {};

// The lanes that meet: those of a mask, or, where a file is given, those that are active at that
// line.
struct LanesAt {
  std::uint64_t mask;
  const char* file;
  int line;
  bool operator==(const LanesAt& other) const {
    return mask == other.mask && file == other.file && line == other.line;
  }
};

// Waits for the other lanes; the result stays valid until this thread's next operation of the wave.
// The size of a wave is in their signatures, so a program compiled for another size does not link.
const WaveValues& meet_in_wave(WaveOperation operation, std::uint64_t value, Lanes<warpSize>);
const WaveValues& meet_lanes(WaveOperation operation, std::uint64_t value, const LanesAt& who,
                             Lanes<warpSize>);

struct WholeWave {};
inline const WaveValues& meet(WaveOperation operation, std::uint64_t value, WholeWave) {
  return meet_in_wave(operation, value, {});
}
inline const WaveValues& meet(WaveOperation operation, std::uint64_t value, const LanesAt& who) {
  return meet_lanes(operation, value, who, {});
}

template <typename Mask>
inline LanesAt lanes_of(Mask mask) {
  static_assert(std::is_integral<Mask>::value && sizeof(Mask) * 8 >= warpSize,
                "the mask has no bit for each lane of the wave");
  return {static_cast<std::uint64_t>(mask) & kAllLanes, nullptr, 0};
}

inline void wave_barrier() { meet_in_wave(WaveOperation::kBarrier, 0, {}); }
inline int lane() { return static_cast<int>(current_thread->rank % warpSize); }

template <typename T>
inline std::uint64_t bits_of(T value) {
  static_assert(std::is_trivially_copyable<T>::value && sizeof(T) <= 8,
                "a shuffle moves up to 8 bytes");
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

template <typename T, typename Who>
inline T shuffle(T value, int source, const Who& who) {
  const WaveValues& values = meet(WaveOperation::kShuffle, bits_of(value), who);
  if ((values.lanes >> source & 1) == 0) return value;  // undefined on GPUs
  std::memcpy(static_cast<void*>(&value), &values.of_lane[source], sizeof(T));
  return value;
}

template <typename Who>
inline std::uint64_t vote(bool mine, std::uint64_t* lanes, const Who& who) {
  const WaveValues& values = meet(WaveOperation::kVote, mine ? 1 : 0, who);
  std::uint64_t result = 0;
  for (int i = 0; i < warpSize; ++i) {
    if (values.lanes >> i & 1) result |= values.of_lane[i] << i;
  }
  *lanes = values.lanes;
  return result;
}

template <typename Who>
inline bool is_unanimous(bool mine, const Who& who) {
  std::uint64_t lanes;
  return vote(mine, &lanes, who) == lanes;
}

// The lanes that have the same value.
template <typename T, typename Who>
inline std::uint64_t match(T value, std::uint64_t* lanes, const Who& who) {
  const std::uint64_t mine = bits_of(value);
  const WaveValues& values = meet(WaveOperation::kMatch, mine, who);
  std::uint64_t result = 0;
  for (int i = 0; i < warpSize; ++i) {
    if ((values.lanes >> i & 1) && values.of_lane[i] == mine) result |= std::uint64_t{1} << i;
  }
  *lanes = values.lanes;
  return result;
}

// The lane that a shuffle reads. `width` is a power of two: the wave falls into groups of `width`
// lanes, and `source` counts in the group. A lane that would read beyond its group reads itself.
inline int lane_of_shfl(int source, int width) {
  const int first = lane() & ~(width - 1);
  return first + (source & (width - 1));
}
inline int lane_of_shfl_xor(int mask, int width) {
  const int self = lane(), source = self ^ mask;
  const int end = (self & ~(width - 1)) + width;
  return source < end ? source : self;
}
inline int lane_of_shfl_up(unsigned distance, int width) {
  const int self = lane(), source = self - static_cast<int>(distance);
  return source >= (self & ~(width - 1)) ? source : self;
}
inline int lane_of_shfl_down(unsigned distance, int width) {
  const int self = lane();
  const unsigned in_group = static_cast<unsigned>(self & (width - 1)) + distance;
  return in_group < static_cast<unsigned>(width) ? self + static_cast<int>(distance) : self;
}

}  // namespace hip_on_cpu
#pragma GCC visibility pop

inline void __syncwarp() { hip_on_cpu::wave_barrier(); }
template <typename Mask>
inline void __syncwarp(Mask mask) {
  hip_on_cpu::meet(hip_on_cpu::WaveOperation::kBarrier, 0, hip_on_cpu::lanes_of(mask));
}

#define HIP_ON_CPU_SHUFFLE(name, Argument)                                                \
  template <typename T>                                                                   \
  inline T __##name(T value, Argument argument, int width = warpSize) {                   \
    return hip_on_cpu::shuffle(value, hip_on_cpu::lane_of_##name(argument, width),        \
                               hip_on_cpu::WholeWave());                                  \
  }                                                                                       \
  template <typename Mask, typename T>                                                    \
  inline T __##name##_sync(Mask mask, T value, Argument argument, int width = warpSize) { \
    return hip_on_cpu::shuffle(value, hip_on_cpu::lane_of_##name(argument, width),        \
                               hip_on_cpu::lanes_of(mask));                               \
  }
HIP_ON_CPU_SHUFFLE(shfl, int)
HIP_ON_CPU_SHUFFLE(shfl_xor, int)
HIP_ON_CPU_SHUFFLE(shfl_up, unsigned)
HIP_ON_CPU_SHUFFLE(shfl_down, unsigned)
#undef HIP_ON_CPU_SHUFFLE

inline unsigned long long __ballot(int predicate) {
  std::uint64_t lanes;
  return hip_on_cpu::vote(predicate != 0, &lanes, hip_on_cpu::WholeWave());
}
inline int __any(int predicate) { return __ballot(predicate) != 0; }
inline int __all(int predicate) {
  return hip_on_cpu::is_unanimous(predicate != 0, hip_on_cpu::WholeWave());
}
template <typename Mask>
inline unsigned long long __ballot_sync(Mask mask, int predicate) {
  std::uint64_t lanes;
  return hip_on_cpu::vote(predicate != 0, &lanes, hip_on_cpu::lanes_of(mask));
}
template <typename Mask>
inline int __any_sync(Mask mask, int predicate) {
  return __ballot_sync(mask, predicate) != 0;
}
template <typename Mask>
inline int __all_sync(Mask mask, int predicate) {
  return hip_on_cpu::is_unanimous(predicate != 0, hip_on_cpu::lanes_of(mask));
}
template <typename Mask, typename T>
inline unsigned long long __match_any_sync(Mask mask, T value) {
  std::uint64_t lanes;
  return hip_on_cpu::match(value, &lanes, hip_on_cpu::lanes_of(mask));
}
// All lanes of the mask if they have the same value, else none.
template <typename Mask, typename T>
inline unsigned long long __match_all_sync(Mask mask, T value, int* are_same) {
  std::uint64_t lanes;
  *are_same = hip_on_cpu::match(value, &lanes, hip_on_cpu::lanes_of(mask)) == lanes;
  return *are_same ? lanes : 0;
}

// The lanes that came here together: all that did not go another way. The place of the call
// identifies them.
inline unsigned long long __activemask(const char* file = __builtin_FILE(),
                                       int line = __builtin_LINE()) {
  return hip_on_cpu::meet(hip_on_cpu::WaveOperation::kVote, 0, hip_on_cpu::LanesAt{0, file, line})
      .lanes;
}
inline unsigned __lane_id() { return static_cast<unsigned>(hip_on_cpu::lane()); }
