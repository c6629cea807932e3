// SPDX-License-Identifier: Apache-2.0
// Conversions between integers and floats (VOP1, VOP3). CDNA2 ISA, V_CVT_*.
// Invariant: floats become the nearest integer towards zero, the largest or smallest one where they
// are beyond it, and 0 where they are NaN.
#include <cmath>
#include <limits>

#include "operands.hpp"
#include "short_float.hpp"

namespace amd_gpu {
namespace {

using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;

template <typename Integer, typename Float>
u32 integer_of(Float value) {
  if (std::isnan(value)) return 0;
  const double whole = std::trunc(static_cast<double>(value));
  constexpr double kLeast = std::numeric_limits<Integer>::min();
  constexpr double kMost = std::numeric_limits<Integer>::max();
  if (whole <= kLeast) return static_cast<u32>(std::numeric_limits<Integer>::min());
  if (whole >= kMost) return static_cast<u32>(std::numeric_limits<Integer>::max());
  return static_cast<u32>(static_cast<Integer>(whole));
}

template <auto kFunction>  // of a float's bits
void of_floats(Wave& w, const Instruction& i) {
  Lanes space, result;
  const Lanes& a = read_floats(w, i, 1, space);
  for (unsigned l = 0; l < kLanes; ++l) result[l] = kFunction(as_float(a[l]));
  write_lanes(w, i, result);
}
template <auto kFunction>  // of an integer, to a float
void to_floats(Wave& w, const Instruction& i) {
  Lanes space, result;
  const Lanes& a = read_lanes(w, i, 1, space);
  for (unsigned l = 0; l < kLanes; ++l) result[l] = bits_of(static_cast<float>(kFunction(a[l])));
  write_floats(w, i, result);
}
template <auto kFunction>  // of a word, to a double
void to_doubles(Wave& w, const Instruction& i) {
  Lanes space;
  WideLanes result;
  const Lanes& a = read_lanes(w, i, 1, space);
  for (unsigned l = 0; l < kLanes; ++l) result[l] = bits_of(static_cast<double>(kFunction(a[l])));
  write_doubles(w, i, result);
}
void doubles_of_floats(Wave& w, const Instruction& i) {
  Lanes space;
  WideLanes result;
  const Lanes& a = read_floats(w, i, 1, space);
  for (unsigned l = 0; l < kLanes; ++l) result[l] = bits_of(static_cast<double>(as_float(a[l])));
  write_doubles(w, i, result);
}
template <auto kFunction>  // of a double, to a word
void of_doubles(Wave& w, const Instruction& i) {
  WideLanes a;
  Lanes result;
  read_doubles(w, i, 1, a);
  for (unsigned l = 0; l < kLanes; ++l) result[l] = kFunction(as_double(a[l]));
  write_lanes(w, i, result);
}

void floats_of_halves(Wave& w, const Instruction& i) {
  Lanes result;
  read_half_lanes(w, i, 1, result);
  write_floats(w, i, result);
}

// Two halves in a word, as they are.
void pack_halves(Wave& w, const Instruction& i) {
  Lanes a_space, b_space, result;
  const Lanes &a = read_lanes(w, i, 1, a_space), &b = read_lanes(w, i, 2, b_space);
  const unsigned from_a = i.op_sel & 1 ? 16 : 0, from_b = i.op_sel & 2 ? 16 : 0;
  for (unsigned l = 0; l < kLanes; ++l)
    result[l] = (a[l] >> from_a & 0xffff) | b[l] >> from_b << 16;
  write_lanes(w, i, result);
}

// To half, rounding towards zero.
u32 truncated_half(float value) {
  const u32 bits = half_bits(value);
  const float back = float_of_half(bits);
  return std::fabs(back) > std::fabs(value) ? bits - 1 : bits;
}
void pack_truncated(Wave& w, const Instruction& i) {
  Lanes a_space, b_space, result;
  const Lanes &a = read_floats(w, i, 1, a_space), &b = read_floats(w, i, 2, b_space);
  for (unsigned l = 0; l < kLanes; ++l)
    result[l] = truncated_half(as_float(a[l])) | truncated_half(as_float(b[l])) << 16;
  write_lanes(w, i, result);
}

}  // namespace

void add_vector_convert_instructions(InstructionTable& t) {
  t["v_cvt_f32_u32"] = to_floats<[](u32 a) { return a; }>;
  t["v_cvt_f32_i32"] = to_floats<[](u32 a) { return static_cast<i32>(a); }>;
  t["v_cvt_f32_ubyte0"] = to_floats<[](u32 a) { return a & 0xff; }>;
  t["v_cvt_f32_ubyte1"] = to_floats<[](u32 a) { return (a >> 8 & 0xff); }>;
  t["v_cvt_f32_ubyte2"] = to_floats<[](u32 a) { return (a >> 16 & 0xff); }>;
  t["v_cvt_f32_ubyte3"] = to_floats<[](u32 a) { return (a >> 24); }>;
  t["v_cvt_f64_u32"] = to_doubles<[](u32 a) { return a; }>;
  t["v_cvt_f64_i32"] = to_doubles<[](u32 a) { return static_cast<i32>(a); }>;
  t["v_cvt_f64_f32"] = doubles_of_floats;
  t["v_cvt_u32_f32"] = of_floats<integer_of<u32, float>>;
  t["v_cvt_i32_f32"] = of_floats<integer_of<i32, float>>;
  t["v_cvt_rpi_i32_f32"] = of_floats<[](float a) { return integer_of<i32>(std::floor(a + 0.5f)); }>;
  t["v_cvt_flr_i32_f32"] = of_floats<[](float a) { return integer_of<i32>(std::floor(a)); }>;
  t["v_cvt_f16_f32"] = of_floats<half_bits>;
  t["v_cvt_u32_f64"] = of_doubles<integer_of<u32, double>>;
  t["v_cvt_i32_f64"] = of_doubles<integer_of<i32, double>>;
  t["v_cvt_f32_f64"] = of_doubles<[](double a) { return bits_of(static_cast<float>(a)); }>;
  t["v_cvt_f32_f16"] = floats_of_halves;
  t["v_pack_b32_f16"] = pack_halves;
  t["v_cvt_pkrtz_f16_f32"] = pack_truncated;
}

}  // namespace amd_gpu
