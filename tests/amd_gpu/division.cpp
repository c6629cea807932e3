// SPDX-License-Identifier: Apache-2.0
// The steps by which compilers divide exactly: scale the operands, iterate, undo the scale, correct
// special cases. CDNA2 ISA, V_DIV_SCALE, V_DIV_FMAS and V_DIV_FIXUP.
// Invariant: the bit of vcc says that the quotient of a lane is scaled; exponents are biased.
#include <cmath>
#include <cstring>
#include <limits>

#include "operands.hpp"

namespace amd_gpu {
namespace {

using u64 = std::uint64_t;

template <typename T>
struct Format;
template <>
struct Format<float> {
  static constexpr int kMantissa = 23, kBias = 127, kScale = 64, kFarApart = 96;
  static constexpr int kAllOnes = 255, kUnderflow = -150;
};
template <>
struct Format<double> {
  static constexpr int kMantissa = 52, kBias = 1023, kScale = 128, kFarApart = 768;
  static constexpr int kAllOnes = 2047, kUnderflow = -1075;
};

template <typename T>
int exponent(T value) {
  if constexpr (sizeof(T) == 4) {
    return static_cast<int>(bits_of(value) >> 23 & 255);
  } else {
    return static_cast<int>(bits_of(value) >> 52 & 2047);
  }
}
template <typename T>
bool is_tiny(T value) {
  return std::fpclassify(value) == FP_SUBNORMAL;
}

// `value` is the numerator or the denominator.
template <typename T>
T scaled(T value, T denominator, T numerator, bool& quotient_is_scaled) {
  using F = Format<T>;
  const T up = std::ldexp(value, F::kScale);
  const bool is_denominator = value == denominator, is_numerator = value == numerator;
  quotient_is_scaled = false;
  if (numerator == 0 || denominator == 0) return std::numeric_limits<T>::quiet_NaN();
  if (exponent(numerator) - exponent(denominator) >= F::kFarApart) {
    quotient_is_scaled = true;
    return is_denominator ? up : value;
  }
  if (is_tiny(denominator)) return up;
  const bool tiny_reciprocal = is_tiny(1 / denominator), tiny = is_tiny(numerator / denominator);
  if (tiny_reciprocal && tiny) {
    quotient_is_scaled = true;
    // The document has `up` here, which would be infinite.
    return is_denominator ? std::ldexp(value, -F::kScale) : value;
  }
  if (tiny_reciprocal) return std::ldexp(value, -F::kScale);
  if (tiny) {
    quotient_is_scaled = true;
    return is_numerator ? up : value;
  }
  return exponent(numerator) <= F::kMantissa + (sizeof(T) == 8) ? up : value;
}

__extension__ using Quad = __float128;

// a * b + c where the product is exact: rounded to odd, so that another rounding, to fewer bits,
// gives what one rounding of the sum would.
Quad sum_rounded_to_odd(Quad product, Quad c) {
  const Quad sum = product + c, part = sum - product;
  const Quad error = (product - (sum - part)) + (c - part);
  unsigned __int128 bits;
  std::memcpy(&bits, &sum, sizeof bits);
  if (error == 0 || (bits & 1) != 0) return sum;
  bits += (error > 0) == (sum > 0) ? 1 : -1;
  Quad odd;
  std::memcpy(&odd, &bits, sizeof odd);
  return odd;
}

// Scaling comes before rounding: a quotient may be subnormal.
template <typename T>
T fused_and_unscaled(T a, T b, T c, bool is_scaled) {
  using F = Format<T>;
  const T sum = std::fma(a, b, c);
  if (!is_scaled || sum == 0 || !std::isfinite(sum)) return sum;
  const Quad factor = std::ldexp(1.0, exponent(c) > F::kBias ? F::kScale : -F::kScale);
  return static_cast<T>(sum_rounded_to_odd(Quad{a} * Quad{b}, c) * factor);
}

template <typename T>
T fixed_up(T quotient, T denominator, T numerator) {
  using F = Format<T>;
  const bool negative = std::signbit(denominator) != std::signbit(numerator);
  const auto with_sign = [&](T value) { return negative ? -value : value; };
  if (std::isnan(numerator)) return numerator;
  if (std::isnan(denominator)) return denominator;
  const bool zero_by_zero = denominator == 0 && numerator == 0;
  if (zero_by_zero || (std::isinf(denominator) && std::isinf(numerator)))
    return -std::numeric_limits<T>::quiet_NaN();
  if (denominator == 0 || std::isinf(numerator))
    return with_sign(std::numeric_limits<T>::infinity());
  if (std::isinf(denominator) || numerator == 0) return with_sign(0);
  if (exponent(numerator) - exponent(denominator) < F::kUnderflow) return with_sign(0);
  // The iterations before make a NaN of a quotient that is too large.
  if (std::isnan(quotient)) return with_sign(std::numeric_limits<T>::infinity());
  return with_sign(std::fabs(quotient));
}

// Result, mask, value, denominator, numerator.
void scale_floats(Wave& w, const Instruction& i) {
  Lanes spaces[3], result;
  const Lanes &value = read_floats(w, i, 2, spaces[0]),
              &denominator = read_floats(w, i, 3, spaces[1]);
  const Lanes& numerator = read_floats(w, i, 4, spaces[2]);
  u64 mask = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    bool is_scaled;
    result[l] = bits_of(
        scaled(as_float(value[l]), as_float(denominator[l]), as_float(numerator[l]), is_scaled));
    mask |= u64{is_scaled} << l;
  }
  write_lanes(w, i, result);
  write_scalar_wide(w, i.operand[1], mask & w.exec());
}
void scale_doubles(Wave& w, const Instruction& i) {
  WideLanes value, denominator, numerator;
  read_doubles(w, i, 2, value);
  read_doubles(w, i, 3, denominator);
  read_doubles(w, i, 4, numerator);
  u64 mask = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    bool is_scaled;
    value[l] = bits_of(
        scaled(as_double(value[l]), as_double(denominator[l]), as_double(numerator[l]), is_scaled));
    mask |= u64{is_scaled} << l;
  }
  write_wide_lanes(w, i, value);
  write_scalar_wide(w, i.operand[1], mask & w.exec());
}

// kFunction of three values and the lane's bit of vcc.
template <auto kFunction>
void floats(Wave& w, const Instruction& i) {
  Lanes spaces[3], result;
  const Lanes &a = read_floats(w, i, 1, spaces[0]), &b = read_floats(w, i, 2, spaces[1]);
  const Lanes& c = read_floats(w, i, 3, spaces[2]);
  const u64 vcc = w.pair(kVcc);
  for (unsigned l = 0; l < kLanes; ++l)
    result[l] = bits_of(kFunction(as_float(a[l]), as_float(b[l]), as_float(c[l]), vcc >> l & 1));
  write_floats(w, i, result);
}
template <auto kFunction>
void doubles(Wave& w, const Instruction& i) {
  WideLanes a, b, c;
  read_doubles(w, i, 1, a);
  read_doubles(w, i, 2, b);
  read_doubles(w, i, 3, c);
  const u64 vcc = w.pair(kVcc);
  for (unsigned l = 0; l < kLanes; ++l)
    a[l] = bits_of(kFunction(as_double(a[l]), as_double(b[l]), as_double(c[l]), vcc >> l & 1));
  write_doubles(w, i, a);
}
constexpr auto kFixup = [](auto quotient, auto denominator, auto numerator, bool) {
  return fixed_up(quotient, denominator, numerator);
};

}  // namespace

void add_division_instructions(InstructionTable& t) {
  t["v_div_scale_f32"] = scale_floats;
  t["v_div_scale_f64"] = scale_doubles;
  t["v_div_fmas_f32"] = floats<fused_and_unscaled<float>>;
  t["v_div_fmas_f64"] = doubles<fused_and_unscaled<double>>;
  t["v_div_fixup_f32"] = floats<kFixup>;
  t["v_div_fixup_f64"] = doubles<kFixup>;
}

}  // namespace amd_gpu
