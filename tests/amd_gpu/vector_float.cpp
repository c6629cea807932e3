// SPDX-License-Identifier: Apache-2.0
// Vector arithmetic on floats and doubles, and on half-precision floats (VOP1, VOP2, VOP3). CDNA2
// ISA, "Vector ALU operations"; the steps of divisions are there as v_div_*.
// Invariant: sums, products and fused products round to nearest even, as kernels start. Operations
// to which the document gives a tolerance (rcp, sqrt, exp, log) are as good as the host's
// mathematics.
#include <cmath>
#include <limits>

#include "operands.hpp"
#include "short_float.hpp"

namespace amd_gpu {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

// One shape for one to three operands: a function takes three, and may ignore some.
using OfFloats = float (*)(float, float, float);
using OfDoubles = double (*)(double, double, double);

float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

void each_float(Wave& w, const Instruction& i, OfFloats function) {
  Lanes spaces[3] = {}, result;
  const Lanes* source[3] = {&spaces[0], &spaces[1], &spaces[2]};
  for (unsigned n = 1; n < i.operands && n <= 3; ++n)
    source[n - 1] = &read_floats(w, i, n, spaces[n - 1]);
  const bool flush = w.flushes_denormals_of_floats();
  const auto value = [&](unsigned n, unsigned lane) {
    const float found = as_float((*source[n])[lane]);
    return flush ? flushed(found) : found;
  };
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const float found = function(value(0, lane), value(1, lane), value(2, lane));
    result[lane] = bits_of(flush ? flushed(found) : found);
  }
  write_floats(w, i, result);
}
void each_double(Wave& w, const Instruction& i, OfDoubles function) {
  WideLanes source[3] = {}, result;
  for (unsigned n = 1; n < i.operands && n <= 3; ++n) read_doubles(w, i, n, source[n - 1]);
  for (unsigned lane = 0; lane < kLanes; ++lane)
    result[lane] = bits_of(function(as_double(source[0][lane]), as_double(source[1][lane]),
                                    as_double(source[2][lane])));
  write_doubles(w, i, result);
}
void each_half(Wave& w, const Instruction& i, OfFloats function) {
  Lanes source[3] = {}, result;
  for (unsigned n = 1; n < i.operands && n <= 3; ++n) read_half_lanes(w, i, n, source[n - 1]);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    float found =
        function(as_float(source[0][lane]), as_float(source[1][lane]), as_float(source[2][lane]));
    if (i.clamp) found = std::fmin(std::fmax(found, 0.0f), 1.0f);
    result[lane] = half_bits(found);
  }
  write_lanes(w, i, result);
}

template <auto kFunction>
void floats(Wave& w, const Instruction& i) {
  each_float(w, i, kFunction);
}
template <auto kFunction>
void doubles(Wave& w, const Instruction& i) {
  each_double(w, i, kFunction);
}
template <auto kFunction>
void halves(Wave& w, const Instruction& i) {
  each_half(w, i, kFunction);
}

// a * b + c with a rounded product, as V_MAD and V_MAC compute it, which know no subnormal numbers.
float multiplied_and_added(float a, float b, float c) {
  volatile float product = flushed(flushed(a) * flushed(b));  // rounded by itself
  return flushed(product + flushed(c));
}
// d = a * b + d.
template <auto kFunction>
void accumulate(Wave& w, const Instruction& i) {
  Lanes a_space, b_space, result;
  const Lanes &a = read_floats(w, i, 1, a_space), &b = read_floats(w, i, 2, b_space);
  const Lanes& d = w.vector[i.operand[0].first];
  for (unsigned lane = 0; lane < kLanes; ++lane)
    result[lane] = bits_of(kFunction(as_float(a[lane]), as_float(b[lane]), as_float(d[lane])));
  write_floats(w, i, result);
}
void accumulate_doubles(Wave& w, const Instruction& i) {
  WideLanes a, b, d;
  read_doubles(w, i, 1, a);
  read_doubles(w, i, 2, b);
  read_wide_lanes(w, i, 0, d);
  for (unsigned lane = 0; lane < kLanes; ++lane)
    d[lane] = bits_of(std::fma(as_double(a[lane]), as_double(b[lane]), as_double(d[lane])));
  write_doubles(w, i, d);
}

// The other one if one is a NaN; -0 is less than +0.
template <typename T>
T least(T a, T b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
template <typename T>
T greatest(T a, T b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
template <typename T>
T median(T a, T b, T c) {
  if (std::isnan(a) || std::isnan(b) || std::isnan(c)) return least(least(a, b), c);
  return greatest(least(a, b), least(greatest(a, b), c));
}
template <typename T>
T fraction(T a) {
  return least(a - std::floor(a), std::nextafter(T{1}, T{0}));
}
template <typename T>
T mantissa(T a) {
  int exponent;
  return std::isfinite(a) ? std::frexp(a, &exponent) : a;
}
template <typename T>
u32 exponent_word(T a) {
  int exponent = 0;
  if (std::isfinite(a)) std::frexp(a, &exponent);
  return static_cast<u32>(exponent);
}
void exponents(Wave& w, const Instruction& i) {
  Lanes space, result;
  const Lanes& a = read_floats(w, i, 1, space);
  for (unsigned l = 0; l < kLanes; ++l) result[l] = exponent_word(as_float(a[l]));
  write_lanes(w, i, result);
}
void exponents_of_doubles(Wave& w, const Instruction& i) {
  WideLanes a;
  Lanes result;
  read_doubles(w, i, 1, a);
  for (unsigned l = 0; l < kLanes; ++l) result[l] = exponent_word(as_double(a[l]));
  write_lanes(w, i, result);
}

void scale(Wave& w, const Instruction& i) {
  Lanes a_space, b_space, result;
  const Lanes &a = read_floats(w, i, 1, a_space), &b = read_lanes(w, i, 2, b_space);
  for (unsigned l = 0; l < kLanes; ++l)
    result[l] = bits_of(std::ldexp(as_float(a[l]), static_cast<int>(b[l])));
  write_floats(w, i, result);
}
void scale_doubles(Wave& w, const Instruction& i) {
  WideLanes a;
  Lanes space;
  read_doubles(w, i, 1, a);
  const Lanes& b = read_lanes(w, i, 2, space);
  for (unsigned l = 0; l < kLanes; ++l)
    a[l] = bits_of(std::ldexp(as_double(a[l]), static_cast<int>(b[l])));
  write_doubles(w, i, a);
}

constexpr double kTurn = 6.283185307179586476925;
template <double (*kFunction)(double)>
float of_double(float a, float, float) {
  return static_cast<float>(kFunction(static_cast<double>(a)));
}

double reciprocal(double a) { return 1 / a; }
double reciprocal_root(double a) { return 1 / std::sqrt(a); }
double sine_of_turns(double a) { return std::sin(a * kTurn); }
double cosine_of_turns(double a) { return std::cos(a * kTurn); }
double root(double a) { return std::sqrt(a); }
double power_of_two(double a) { return std::exp2(a); }
double binary_logarithm(double a) { return std::log2(a); }

}  // namespace

#define EACH(T, expression) \
  [](T a, [[maybe_unused]] T b, [[maybe_unused]] T c) -> T { return (expression); }
// For floats, doubles and halves.
#define ALL(name, expression)                              \
  t["v_" name "_f32"] = floats<EACH(float, expression)>;   \
  t["v_" name "_f64"] = doubles<EACH(double, expression)>; \
  t["v_" name "_f16"] = halves<EACH(float, expression)>

void add_vector_float_instructions(InstructionTable& t) {
  ALL("add", a + b);
  ALL("sub", a - b);
  ALL("subrev", b - a);
  ALL("mul", a * b);
  ALL("fma", std::fma(a, b, c));
  ALL("min", least(a, b));
  ALL("max", greatest(a, b));
  ALL("trunc", std::trunc(a));
  ALL("floor", std::floor(a));
  ALL("ceil", std::ceil(a));
  ALL("rndne", std::nearbyint(a));
  ALL("fract", fraction(a));
  ALL("frexp_mant", mantissa(a));
  t["v_frexp_exp_i32_f32"] = exponents;
  t["v_frexp_exp_i32_f64"] = exponents_of_doubles;
  t["v_min3_f32"] = floats<EACH(float, least(least(a, b), c))>;
  t["v_max3_f32"] = floats<EACH(float, greatest(greatest(a, b), c))>;
  t["v_med3_f32"] = floats<EACH(float, median(a, b, c))>;
  t["v_mul_legacy_f32"] = floats<EACH(float, a == 0 || b == 0 ? 0 : a * b)>;
  t["v_mad_f32"] = t["v_madak_f32"] = t["v_madmk_f32"] = floats<multiplied_and_added>;
  t["v_fmaak_f32"] = t["v_fmamk_f32"] = floats<EACH(float, std::fma(a, b, c))>;
  t["v_mac_f32"] = accumulate<multiplied_and_added>;
  t["v_fmac_f32"] = accumulate<EACH(float, std::fma(a, b, c))>;
  t["v_fmac_f64"] = accumulate_doubles;
  t["v_ldexp_f32"] = scale;
  t["v_ldexp_f64"] = scale_doubles;

  t["v_rcp_f32"] = t["v_rcp_iflag_f32"] = floats<of_double<reciprocal>>;
  t["v_rsq_f32"] = floats<of_double<reciprocal_root>>;
  t["v_sqrt_f32"] = floats<of_double<root>>;
  t["v_exp_f32"] = floats<of_double<power_of_two>>;
  t["v_log_f32"] = floats<of_double<binary_logarithm>>;
  t["v_sin_f32"] = floats<of_double<sine_of_turns>>;
  t["v_cos_f32"] = floats<of_double<cosine_of_turns>>;
  t["v_rcp_f16"] = halves<of_double<reciprocal>>;
  t["v_sqrt_f16"] = halves<of_double<root>>;
  t["v_rcp_f64"] = doubles<EACH(double, reciprocal(a))>;
  t["v_rsq_f64"] = doubles<EACH(double, reciprocal_root(a))>;
  t["v_sqrt_f64"] = doubles<EACH(double, root(a))>;
}

}  // namespace amd_gpu
