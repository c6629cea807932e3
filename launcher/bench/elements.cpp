// SPDX-License-Identifier: Apache-2.0
//
// The table. Hosts have no numbers of 16 bits, so these are bits here.
#include "bench/elements.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "device/hip_on_cpu/hip/on_cpu/short_floats.h"

namespace meshmem::bench {
namespace {

template <typename E>
struct Plain {
  using Bits = E;
  static E encode(double value) { return static_cast<E>(value); }
  static double decode(E elem) { return static_cast<double>(elem); }
};

template <int fraction_bits, int exponent_bits>
struct ShortFloat {
  using Bits = std::uint16_t;
  static Bits encode(double value) {
    return hip_on_cpu::shorten<fraction_bits, exponent_bits>(static_cast<float>(value));
  }
  static double decode(Bits elem) {
    return hip_on_cpu::lengthen<fraction_bits, exponent_bits>(elem);
  }
};

template <typename Code>
constexpr Element row(std::string_view type, double rounding) {
  using Bits = typename Code::Bits;
  return {type, sizeof(Bits), rounding,
          [](std::byte* to, double value) {
            const Bits elem = Code::encode(value);
            std::memcpy(to, &elem, sizeof elem);
          },
          [](const std::byte* from) {
            Bits elem{};
            std::memcpy(&elem, from, sizeof elem);
            return Code::decode(elem);
          }};
}

constexpr Element kElements[] = {row<Plain<unsigned char>>("byte", 0),
                                 row<Plain<float>>("float", 0x1p-23),
                                 row<Plain<double>>("double", 0x1p-52),
                                 row<Plain<int>>("int", 0),
                                 row<Plain<long>>("long", 0),
                                 row<ShortFloat<10, 5>>("half", 0x1p-10),
                                 row<ShortFloat<7, 8>>("bfloat16", 0x1p-7)};

}  // namespace

const Element& find_element(std::string_view type) {
  return *std::find_if(std::begin(kElements), std::end(kElements),
                       [type](const Element& element) { return element.type == type; });
}

}  // namespace meshmem::bench
