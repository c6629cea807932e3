// SPDX-License-Identifier: Apache-2.0
//
// How the elements of a collective are divided among the blocks of a kernel, each on a channel of its
// own (state.hpp).
// Invariant: a function of what all PEs have in common, so that a slice is empty on all or on none;
// slices begin at multiples of 16 bytes from the first element.
#ifndef MESHMEM_DEVICE_COLLECTIVES_SLICES_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_SLICES_HPP_

#include <cstddef>
#include <cstdint>

#include "device/target.hpp"

namespace meshmem {
namespace device {

struct Slice {
  std::size_t first;
  std::size_t count;  // of elements
};

// A division of 64 bits is a long loop on a GPU; numbers here rarely have more than 32.
MESHMEM_HOST_DEVICE std::size_t quotient(std::size_t a, std::size_t b) {
  if (a >> 32 != 0 || b >> 32 != 0) return a / b;
  return static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
}

// The slice of `channel` of `channels`. They differ by 16 bytes at most; the first are the longer ones.
template <typename E>
MESHMEM_HOST_DEVICE Slice slice_of(std::size_t count, int channel, int channels) {
  constexpr std::size_t kGrain = sizeof(E) < 16 ? 16 / sizeof(E) : 1;
  const auto which = static_cast<std::size_t>(channel), all = static_cast<std::size_t>(channels);
  const std::size_t grains = (count + kGrain - 1) / kGrain;
  const std::size_t each = quotient(grains, all), longer = grains - each * all;
  const std::size_t first = (each * which + (which < longer ? which : longer)) * kGrain;
  const std::size_t end = first + (each + (which < longer ? 1 : 0)) * kGrain;
  return {first, (end < count ? end : count) - (first < count ? first : count)};
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_SLICES_HPP_
