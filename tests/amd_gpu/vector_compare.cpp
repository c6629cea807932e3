// SPDX-License-Identifier: Apache-2.0
// Vector comparisons (VOPC): a bit for each active lane, zero for the others. v_cmpx_ makes the
// bits the new exec too. CDNA2 ISA, "Vector compare".
#include <cmath>

#include "operands.hpp"
#include "short_float.hpp"

namespace amd_gpu {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

void write_bits(Wave& w, const Instruction& i, u64 bits) {
  write_scalar_wide(w, i.operand[0], bits & w.exec());
}

template <typename T>
using Comparison = bool (*)(T, T);

template <typename T>
void compare_wide(Wave& w, const Instruction& i, Comparison<T> comparison) {
  WideLanes a, b;
  const auto read = std::is_floating_point_v<T> ? read_doubles : read_wide_lanes;
  read(w, i, 1, a);
  read(w, i, 2, b);
  u64 bits = 0;
  for (unsigned l = 0; l < kLanes; ++l)
    bits |= u64{comparison(std::bit_cast<T>(a[l]), std::bit_cast<T>(b[l]))} << l;
  write_bits(w, i, bits);
}
template <typename T>
void compare_words(Wave& w, const Instruction& i, Comparison<T> comparison) {
  Lanes a_space, b_space;
  const auto read = std::is_floating_point_v<T> ? read_floats : read_lanes;
  const Lanes &a = read(w, i, 1, a_space), &b = read(w, i, 2, b_space);
  const auto value = [](u32 bits) {
    if constexpr (std::is_floating_point_v<T>) {
      return as_float(bits);
    } else {
      return static_cast<T>(bits);
    }
  };
  u64 bits = 0;
  for (unsigned l = 0; l < kLanes; ++l) bits |= u64{comparison(value(a[l]), value(b[l]))} << l;
  write_bits(w, i, bits);
}
template <typename T, auto kComparison>
void compare(Wave& w, const Instruction& i) {
  if constexpr (sizeof(T) == 8) {
    compare_wide<T>(w, i, kComparison);
  } else {
    compare_words<T>(w, i, kComparison);
  }
}

template <auto kComparison>
void compare_halves(Wave& w, const Instruction& i) {
  Lanes a, b;
  read_half_lanes(w, i, 1, a);
  read_half_lanes(w, i, 2, b);
  u64 bits = 0;
  for (unsigned l = 0; l < kLanes; ++l)
    bits |= u64{kComparison(as_float(a[l]), as_float(b[l]))} << l;
  write_bits(w, i, bits);
}

// v_cmpx_: the bits are the new exec too.
template <typename T, auto kComparison>
void compare_into_exec(Wave& w, const Instruction& i) {
  compare<T, kComparison>(w, i);
  w.set_pair(kExec, read_scalar_wide(w, i.operand[0]));
}

// The classes of v_cmp_class, a bit each.
template <typename T>
u32 class_of(T value, bool is_signalling) {
  const bool negative = std::signbit(value);
  switch (std::fpclassify(value)) {
    case FP_NAN:
      return is_signalling ? 1 : 2;
    case FP_INFINITE:
      return negative ? 4 : 512;
    case FP_NORMAL:
      return negative ? 8 : 256;
    case FP_SUBNORMAL:
      return negative ? 16 : 128;
    default:
      return negative ? 32 : 64;
  }
}
void compare_class(Wave& w, const Instruction& i) {
  Lanes a_space, b_space;
  const Lanes &a = read_floats(w, i, 1, a_space), &b = read_lanes(w, i, 2, b_space);
  u64 bits = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    const u32 found = class_of(as_float(a[l]), (a[l] >> 22 & 1) == 0);
    bits |= u64{(found & b[l]) != 0} << l;
  }
  write_bits(w, i, bits);
}
void compare_class_of_double(Wave& w, const Instruction& i) {
  WideLanes a;
  Lanes b_space;
  read_doubles(w, i, 1, a);
  const Lanes& b = read_lanes(w, i, 2, b_space);
  u64 bits = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    const u32 found = class_of(as_double(a[l]), (a[l] >> 51 & 1) == 0);
    bits |= u64{(found & b[l]) != 0} << l;
  }
  write_bits(w, i, bits);
}

template <typename T>
void add_integers(InstructionTable& t, const char* const (&names)[6], const char* const (&x)[6]) {
#define ROW(n, op)                                             \
  t[names[n]] = compare<T, [](T a, T b) { return (a op b); }>; \
  t[x[n]] = compare_into_exec<T, [](T a, T b) { return (a op b); }>
  ROW(0, <);
  ROW(1, ==);
  ROW(2, <=);
  ROW(3, >);
  ROW(4, !=);
  ROW(5, >=);
#undef ROW
}

}  // namespace

#define NAMES(prefix, type)                                                                        \
  {                                                                                                \
    prefix "lt_" type, prefix "eq_" type, prefix "le_" type, prefix "gt_" type, prefix "ne_" type, \
        prefix "ge_" type                                                                          \
  }

void add_vector_compare_instructions(InstructionTable& t) {
#define INTEGERS(type, T) add_integers<T>(t, NAMES("v_cmp_", type), NAMES("v_cmpx_", type))
  INTEGERS("u16", std::uint16_t);
  INTEGERS("i16", std::int16_t);
  INTEGERS("u32", std::uint32_t);
  INTEGERS("i32", std::int32_t);
  INTEGERS("u64", std::uint64_t);
  INTEGERS("i64", std::int64_t);
#undef INTEGERS
  // "n" names are true for NaNs too.
#define FLOATS(name, condition)                                                              \
  t["v_cmp_" name "_f32"] = compare<float, [](float a, float b) { return (condition); }>;    \
  t["v_cmp_" name "_f64"] = compare<double, [](double a, double b) { return (condition); }>; \
  t["v_cmp_" name "_f16"] = compare_halves<[](float a, float b) { return (condition); }>
  FLOATS("lt", a < b);
  FLOATS("eq", a == b);
  FLOATS("le", a <= b);
  FLOATS("gt", a > b);
  FLOATS("lg", a < b || a > b);
  FLOATS("ge", a >= b);
  FLOATS("o", a == a && b == b);
  FLOATS("u", a != a || b != b);
  FLOATS("nge", !(a >= b));
  FLOATS("nlg", !(a < b || a > b));
  FLOATS("ngt", !(a > b));
  FLOATS("nle", !(a <= b));
  FLOATS("neq", !(a == b));
  FLOATS("nlt", !(a < b));
#undef FLOATS
  t["v_cmp_class_f32"] = compare_class;
  t["v_cmp_class_f64"] = compare_class_of_double;
}

}  // namespace amd_gpu
