// SPDX-License-Identifier: Apache-2.0
//
// The table. Hosts have no numbers of 16 bits, so these are bits here.
#include "bench/elements.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>

namespace meshmem::bench {
namespace {

template <typename E>
struct Plain {
  using Bits = E;
  static E encode(double value) { return static_cast<E>(value); }
  static double decode(E elem) { return static_cast<double>(elem); }
};

// Whole numbers of up to 256 are exact in both.
struct Bfloat16 {
  using Bits = std::uint16_t;
  static Bits encode(double value) {
    return static_cast<Bits>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16);
  }
  static double decode(Bits elem) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(elem) << 16);
  }
};
struct Half {
  using Bits = std::uint16_t;
  static Bits encode(double value) {
    if (value == 0) return 0;
    int exponent = 0;
    const double fraction = std::frexp(std::abs(value), &exponent);  // 0.5 to 1
    const int bits = (exponent + 14) << 10 | (static_cast<int>(std::ldexp(fraction, 11)) & 0x3FF);
    return static_cast<Bits>(bits | (value < 0 ? 0x8000 : 0));
  }
  static double decode(Bits elem) {
    const int exponent = elem >> 10 & 0x1F;
    const int fraction = elem & 0x3FF;
    const double value = exponent == 0    ? std::ldexp(fraction, -24)
                         : exponent == 31 ? std::numeric_limits<double>::quiet_NaN()
                                          : std::ldexp(fraction + 1024, exponent - 25);
    return elem & 0x8000 ? -value : value;
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

constexpr Element kElements[] = {
    row<Plain<unsigned char>>("byte", 0),  row<Plain<float>>("float", 0x1p-23),
    row<Plain<double>>("double", 0x1p-52), row<Plain<int>>("int", 0),
    row<Plain<long>>("long", 0),           row<Half>("half", 0x1p-10),
    row<Bfloat16>("bfloat16", 0x1p-7)};

}  // namespace

const Element& find_element(std::string_view type) {
  return *std::find_if(std::begin(kElements), std::end(kElements),
                       [type](const Element& element) { return element.type == type; });
}

}  // namespace meshmem::bench
