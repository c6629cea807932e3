// SPDX-License-Identifier: Apache-2.0
//
// How the elements of a collective are divided among the blocks of a kernel, each on a channel of
// its own (state.hpp).
// Invariant: slices follow from numbers that all PEs have in common, so a slice is empty on all PEs
// or on none. Slices begin at multiples of 16 bytes from the first element.
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

// How `count` elements are divided into slices of whole grains of 16 bytes. The slices differ by at
// most one grain, and the longer ones are first.
struct Slices {
  std::size_t count, each, longer;  // elements, grains of a slice, slices with one more

  // Returns the largest number of slices, up to `channels`, that are all not empty; 1 if there are
  // no elements.
  template <typename E>
  MESHMEM_HOST_DEVICE_MEMBER static int most(std::size_t count, int channels) {
    const std::size_t grains = (count + grain<E>() - 1) / grain<E>();
    if (grains >= static_cast<std::size_t>(channels)) return channels;
    return grains == 0 ? 1 : static_cast<int>(grains);
  }
  template <typename E>
  MESHMEM_HOST_DEVICE_MEMBER static Slices of(std::size_t count, int channels) {
    const auto all = static_cast<std::size_t>(channels);
    const std::size_t grains = (count + grain<E>() - 1) / grain<E>();
    const std::size_t each = grains / all;
    return {count, each, grains - each * all};
  }
  template <typename E>
  MESHMEM_HOST_DEVICE_MEMBER Slice slice(int channel) const {
    const auto which = static_cast<std::size_t>(channel);
    const std::size_t first = (each * which + (which < longer ? which : longer)) * grain<E>();
    const std::size_t end = first + (each + (which < longer ? 1 : 0)) * grain<E>();
    return {first, (end < count ? end : count) - (first < count ? first : count)};
  }
  // The number of elements of the longest slice.
  template <typename E>
  MESHMEM_HOST_DEVICE_MEMBER std::size_t longest() const {
    return slice<E>(0).count;
  }

  // The number of elements of a grain.
  template <typename E>
  MESHMEM_HOST_DEVICE_MEMBER static constexpr std::size_t grain() {
    return sizeof(E) < 16 ? 16 / sizeof(E) : 1;
  }
};

template <typename E>
MESHMEM_HOST_DEVICE Slice slice_of(std::size_t count, int channel, int channels) {
  const Slices slices = Slices::of<E>(count, channels);
  return slices.slice<E>(channel);
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_SLICES_HPP_
