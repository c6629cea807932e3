// SPDX-License-Identifier: Apache-2.0
// HIP's vectors of 1 to 4 numbers (int2, float4 and so on), and the functions that make them, such
// as make_float4().
// Invariant: size and alignment are those of AMD's headers: vectors of 3 are aligned as their
// numbers, all others as a whole. Operators work on each number; two vectors are equal if all of
// their numbers are. Included by hip_runtime.h, and by programs.
#pragma once

#include <type_traits>

namespace hip_on_cpu {

template <typename T, unsigned rank>
struct VectorMembers;
template <typename T>
struct VectorMembers<T, 1> {
  T x;
  static constexpr T VectorMembers::*kEach[] = {&VectorMembers::x};
};
template <typename T>
struct VectorMembers<T, 2> {
  T x, y;
  static constexpr T VectorMembers::*kEach[] = {&VectorMembers::x, &VectorMembers::y};
};
template <typename T>
struct VectorMembers<T, 3> {
  T x, y, z;
  static constexpr T VectorMembers::*kEach[] = {&VectorMembers::x, &VectorMembers::y,
                                                &VectorMembers::z};
};
template <typename T>
struct VectorMembers<T, 4> {
  T x, y, z, w;
  static constexpr T VectorMembers::*kEach[] = {&VectorMembers::x, &VectorMembers::y,
                                                &VectorMembers::z, &VectorMembers::w};
};

template <typename T>
inline constexpr bool is_number = std::is_arithmetic<T>::value;
template <typename T>
inline constexpr bool is_whole_number = std::is_integral<T>::value;

}  // namespace hip_on_cpu

template <typename T, unsigned rank>
struct alignas(rank == 3 ? alignof(T) : rank * sizeof(T)) HIP_vector_type
    : hip_on_cpu::VectorMembers<T, rank> {
  using value_type = T;

  HIP_vector_type() = default;
  // Repeats one number.
  template <typename U, typename = std::enable_if_t<std::is_convertible<U, T>::value>>
  explicit constexpr HIP_vector_type(U value) : hip_on_cpu::VectorMembers<T, rank>{} {
    for (unsigned i = 0; i < rank; ++i) (*this)[i] = static_cast<T>(value);
  }
  template <typename... Us, typename = std::enable_if_t<(rank > 1) && sizeof...(Us) == rank>>
  constexpr HIP_vector_type(Us... values)
      : hip_on_cpu::VectorMembers<T, rank>{static_cast<T>(values)...} {}

  constexpr T& operator[](unsigned i) { return this->*HIP_vector_type::kEach[i]; }
  constexpr const T& operator[](unsigned i) const { return this->*HIP_vector_type::kEach[i]; }
};

// The beginnings of templates below: of a function of vectors, and of a vector and a number.
#define HIP_ON_CPU_VECTOR HIP_vector_type<T, rank>
#define HIP_ON_CPU_OF_NUMBERS(is_allowed) \
  template <typename T, unsigned rank, typename = std::enable_if_t<hip_on_cpu::is_allowed<T>>>
#define HIP_ON_CPU_AND_A_NUMBER(is_allowed)        \
  template <typename T, unsigned rank, typename U, \
            typename = std::enable_if_t<hip_on_cpu::is_allowed<T> && hip_on_cpu::is_number<U>>>

// `a op b` and `a op= b`; one side may be a number, which then stands for a vector that repeats it.
#define HIP_ON_CPU_VECTOR_OPERATOR(op, is_allowed)                                                \
  HIP_ON_CPU_OF_NUMBERS(is_allowed)                                                               \
  constexpr HIP_ON_CPU_VECTOR& operator op##=(HIP_ON_CPU_VECTOR& a, const HIP_ON_CPU_VECTOR& b) { \
    for (unsigned i = 0; i < rank; ++i) a[i] = static_cast<T>(a[i] op b[i]);                      \
    return a;                                                                                     \
  }                                                                                               \
  HIP_ON_CPU_AND_A_NUMBER(is_allowed)                                                             \
  constexpr HIP_ON_CPU_VECTOR& operator op##=(HIP_ON_CPU_VECTOR& a, U b) {                        \
    return a op## = HIP_ON_CPU_VECTOR(b);                                                         \
  }                                                                                               \
  HIP_ON_CPU_OF_NUMBERS(is_allowed)                                                               \
  constexpr HIP_ON_CPU_VECTOR operator op(HIP_ON_CPU_VECTOR a, const HIP_ON_CPU_VECTOR& b) {      \
    return a op## = b;                                                                            \
  }                                                                                               \
  HIP_ON_CPU_AND_A_NUMBER(is_allowed)                                                             \
  constexpr HIP_ON_CPU_VECTOR operator op(HIP_ON_CPU_VECTOR a, U b) {                             \
    return a op## = HIP_ON_CPU_VECTOR(b);                                                         \
  }                                                                                               \
  HIP_ON_CPU_AND_A_NUMBER(is_allowed)                                                             \
  constexpr HIP_ON_CPU_VECTOR operator op(U a, const HIP_ON_CPU_VECTOR& b) {                      \
    return HIP_ON_CPU_VECTOR(a) op b;                                                             \
  }
HIP_ON_CPU_VECTOR_OPERATOR(+, is_number)
HIP_ON_CPU_VECTOR_OPERATOR(-, is_number)
HIP_ON_CPU_VECTOR_OPERATOR(*, is_number)
HIP_ON_CPU_VECTOR_OPERATOR(/, is_number)
HIP_ON_CPU_VECTOR_OPERATOR(%, is_whole_number)
HIP_ON_CPU_VECTOR_OPERATOR(&, is_whole_number)
HIP_ON_CPU_VECTOR_OPERATOR(|, is_whole_number)
HIP_ON_CPU_VECTOR_OPERATOR(^, is_whole_number)
HIP_ON_CPU_VECTOR_OPERATOR(<<, is_whole_number)
HIP_ON_CPU_VECTOR_OPERATOR(>>, is_whole_number)
#undef HIP_ON_CPU_VECTOR_OPERATOR

// `++a`, `a++`, `--a` and `a--`.
#define HIP_ON_CPU_VECTOR_STEP(op, by)                                 \
  template <typename T, unsigned rank>                                 \
  constexpr HIP_ON_CPU_VECTOR& operator op(HIP_ON_CPU_VECTOR& a) {     \
    return a by T(1);                                                  \
  }                                                                    \
  template <typename T, unsigned rank>                                 \
  constexpr HIP_ON_CPU_VECTOR operator op(HIP_ON_CPU_VECTOR& a, int) { \
    const HIP_ON_CPU_VECTOR before = a;                                \
    a by T(1);                                                         \
    return before;                                                     \
  }
HIP_ON_CPU_VECTOR_STEP(++, +=)
HIP_ON_CPU_VECTOR_STEP(--, -=)
#undef HIP_ON_CPU_VECTOR_STEP

template <typename T, unsigned rank, typename = std::enable_if_t<std::is_signed<T>::value>>
constexpr HIP_ON_CPU_VECTOR operator-(HIP_ON_CPU_VECTOR a) {
  for (unsigned i = 0; i < rank; ++i) a[i] = static_cast<T>(-a[i]);
  return a;
}
HIP_ON_CPU_OF_NUMBERS(is_whole_number)
constexpr HIP_ON_CPU_VECTOR operator~(HIP_ON_CPU_VECTOR a) {
  for (unsigned i = 0; i < rank; ++i) a[i] = static_cast<T>(~a[i]);
  return a;
}

template <typename T, unsigned rank>
constexpr bool operator==(const HIP_ON_CPU_VECTOR& a, const HIP_ON_CPU_VECTOR& b) {
  for (unsigned i = 0; i < rank; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}
template <typename T, unsigned rank>
constexpr bool operator!=(const HIP_ON_CPU_VECTOR& a, const HIP_ON_CPU_VECTOR& b) {
  return !(a == b);
}
#undef HIP_ON_CPU_AND_A_NUMBER
#undef HIP_ON_CPU_OF_NUMBERS
#undef HIP_ON_CPU_VECTOR

#define HIP_ON_CPU_VECTORS(name, type)                                           \
  using name##1 = HIP_vector_type<type, 1>;                                      \
  using name##2 = HIP_vector_type<type, 2>;                                      \
  using name##3 = HIP_vector_type<type, 3>;                                      \
  using name##4 = HIP_vector_type<type, 4>;                                      \
  constexpr name##1 make_##name##1(type x) { return name##1(x); }                \
  constexpr name##2 make_##name##2(type x, type y) { return {x, y}; }            \
  constexpr name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; } \
  constexpr name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
HIP_ON_CPU_VECTORS(char, char)
HIP_ON_CPU_VECTORS(uchar, unsigned char)
HIP_ON_CPU_VECTORS(short, short)
HIP_ON_CPU_VECTORS(ushort, unsigned short)
HIP_ON_CPU_VECTORS(int, int)
HIP_ON_CPU_VECTORS(uint, unsigned)
HIP_ON_CPU_VECTORS(long, long)
HIP_ON_CPU_VECTORS(ulong, unsigned long)
HIP_ON_CPU_VECTORS(longlong, long long)
HIP_ON_CPU_VECTORS(ulonglong, unsigned long long)
HIP_ON_CPU_VECTORS(float, float)
HIP_ON_CPU_VECTORS(double, double)
#undef HIP_ON_CPU_VECTORS
