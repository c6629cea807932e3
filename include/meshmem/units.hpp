// SPDX-License-Identifier: Apache-2.0
//
// For kernels on floating-point data: 16 bytes at a time, and a sum over a block.
// Invariant: computations are in float, and rounded once. Used by all_reduce_norm.hpp and
// quantized.hpp.
#ifndef MESHMEM_MESHMEM_UNITS_HPP
#define MESHMEM_MESHMEM_UNITS_HPP

#include <meshmem/mailbox.hpp>

namespace meshmem {

// 16 bytes of bf16, half or float.
template <typename E>
struct alignas(16) Unit {
  static constexpr int kElems = 16 / sizeof(E);
  E of[kElems];

  MESHMEM_DEVICE_MEMBER float operator[](int e) const { return device::Total<E>::widen(of[e]); }

  // Unit `at` of an array that is aligned to 16 bytes.
  MESHMEM_DEVICE_MEMBER static Unit load(const void* array, std::size_t at) {
    const auto* bits = static_cast<const device::Bits128*>(array) + at;
    return device::bit_cast<Unit>(device::load_plain(bits));
  }
  MESHMEM_DEVICE_MEMBER void store(void* array, std::size_t at) const {
    device::store_plain(static_cast<device::Bits128*>(array) + at,
                        device::bit_cast<device::Bits128>(*this));
  }
  MESHMEM_DEVICE_MEMBER void add_to(float (&sum)[kElems]) const {
    for_each([&](int e) { sum[e] += (*this)[e]; });
  }
  MESHMEM_DEVICE_MEMBER static Unit rounded(const float (&values)[kElems]) {
    Unit unit;
    for_each([&](int e) { unit.of[e] = device::Total<E>::round(values[e]); });
    return unit;
  }
  // act(0), act(1), ...
  template <typename Act>
  MESHMEM_DEVICE_MEMBER static void for_each(const Act& act) {
#pragma unroll
    for (int e = 0; e < kElems; ++e) act(e);
  }
};

// Loads n elements, of which `left` exist; the others are 0. At any address that fits E.
template <typename E, int n>
MESHMEM_DEVICE void load_elems(const E* from, std::size_t left, float (&values)[n]) {
  constexpr int kUnit = Unit<E>::kElems;
  if (left >= n && reinterpret_cast<std::uintptr_t>(from) % 16 == 0) {
#pragma unroll
    for (int u = 0; u < n / kUnit; ++u) {
      const auto unit = Unit<E>::load(from, static_cast<std::size_t>(u));
      Unit<E>::for_each([&](int e) { values[u * kUnit + e] = unit[e]; });
    }
  } else {
#pragma unroll
    for (int i = 0; i < n; ++i)
      values[i] = static_cast<std::size_t>(i) < left
                      ? device::Total<E>::widen(device::load_plain(from + i))
                      : 0;
  }
}
template <typename E, int n>
MESHMEM_DEVICE void store_elems(E* to, std::size_t left, const float (&values)[n]) {
  constexpr int kUnit = Unit<E>::kElems;
  if (left >= n && reinterpret_cast<std::uintptr_t>(to) % 16 == 0) {
#pragma unroll
    for (int u = 0; u < n / kUnit; ++u) {
      float unit[kUnit];
      Unit<E>::for_each([&](int e) { unit[e] = values[u * kUnit + e]; });
      Unit<E>::rounded(unit).store(to, static_cast<std::size_t>(u));
    }
  } else {
#pragma unroll
    for (int i = 0; i < n; ++i)
      if (static_cast<std::size_t>(i) < left)
        device::store_plain(to + i, device::Total<E>::round(values[i]));
  }
}

MESHMEM_DEVICE float add_up_wave(float value) {
  for (int lane = device::wave_size() / 2; lane > 0; lane /= 2) value += __shfl_xor(value, lane);
  return value;
}

// Adds up a value of each thread, by all threads of a block of whole waves. All get the same bits.
class BlockSum {
 public:
  MESHMEM_DEVICE_MEMBER float operator()(float value) {
    __shared__ float of_wave[2][kMostWaves];  // in turns, so one barrier is enough
    turn_ ^= 1;
    const int thread = device::thread_in_block(), wave = device::wave_size(), lane = thread % wave;
    value = add_up_wave(value);
    if (lane == 0) of_wave[turn_][thread / wave] = value;
    __syncthreads();
    return add_up_wave(lane < device::threads_of_block() / wave ? of_wave[turn_][lane] : 0);
  }

 private:
  static constexpr int kMostWaves = 32;
  int turn_ = 0;
};

}  // namespace meshmem

#endif
