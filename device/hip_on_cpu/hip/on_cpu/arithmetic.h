// SPDX-License-Identifier: Apache-2.0
// Arithmetic of kernels besides C's mathematics: HIP's names for it, of the types that GPUs have.
// Invariant: fmin and fmax of floating point leave a NaN out, as on GPUs. Pairs of types are those
// that CUDA takes; ROCm's headers take more, and convert a signed and an unsigned number to double.
// Included by hip_runtime.h and math_functions.h.
#pragma once

#include <math.h>

#include <cstring>

// A signed and an unsigned number are both taken for unsigned.
#define HIP_ON_CPU_ORDER(result, a_type, b_type)                                     \
  inline result min(a_type a, b_type b) {                                            \
    return static_cast<result>(b) < static_cast<result>(a) ? static_cast<result>(b)  \
                                                           : static_cast<result>(a); \
  }                                                                                  \
  inline result max(a_type a, b_type b) {                                            \
    return static_cast<result>(a) < static_cast<result>(b) ? static_cast<result>(b)  \
                                                           : static_cast<result>(a); \
  }
#define HIP_ON_CPU_ORDERS(type)                                 \
  HIP_ON_CPU_ORDER(type, type, type)                            \
  HIP_ON_CPU_ORDER(unsigned type, unsigned type, unsigned type) \
  HIP_ON_CPU_ORDER(unsigned type, type, unsigned type)          \
  HIP_ON_CPU_ORDER(unsigned type, unsigned type, type)
HIP_ON_CPU_ORDERS(int)
HIP_ON_CPU_ORDERS(long)
HIP_ON_CPU_ORDERS(long long)
#undef HIP_ON_CPU_ORDERS
#undef HIP_ON_CPU_ORDER
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
inline double min(float a, double b) { return fmin(static_cast<double>(a), b); }
inline double max(float a, double b) { return fmax(static_cast<double>(a), b); }
inline double min(double a, float b) { return fmin(a, static_cast<double>(b)); }
inline double max(double a, float b) { return fmax(a, static_cast<double>(b)); }

inline float rsqrtf(float x) { return 1 / sqrtf(x); }
inline double rsqrt(double x) { return 1 / sqrt(x); }

inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline int __popcll(unsigned long long bits) { return __builtin_popcountll(bits); }
// The number of the lowest bit that is set, from 1; 0 if none is.
inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline int __ffsll(unsigned long long bits) {
  return __builtin_ffsll(static_cast<long long>(bits));
}
// The zeros before the highest bit that is set.
inline int __clz(int bits) { return bits == 0 ? 32 : __builtin_clz(static_cast<unsigned>(bits)); }
inline int __clzll(long long bits) {
  return bits == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(bits));
}
// The bits in the opposite order.
inline unsigned __brev(unsigned bits) {
  unsigned result = 0;
  for (int i = 0; i < 32; ++i) result |= (bits >> i & 1) << (31 - i);
  return result;
}
inline unsigned long long __brevll(unsigned long long bits) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(bits))) << 32 |
         __brev(static_cast<unsigned>(bits >> 32));
}

// The upper half of a product.
inline int __mulhi(int a, int b) { return static_cast<int>((static_cast<long long>(a) * b) >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) * b) >> 32);
}
inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>((static_cast<__int128>(a) * b) >> 64);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}

// The bits of a number, read as a number of another type.
#define HIP_ON_CPU_BITS(name, To, From)               \
  inline To name(From value) {                        \
    To result;                                        \
    static_assert(sizeof(To) == sizeof(From), #name); \
    std::memcpy(&result, &value, sizeof result);      \
    return result;                                    \
  }
HIP_ON_CPU_BITS(__float_as_int, int, float)
HIP_ON_CPU_BITS(__float_as_uint, unsigned, float)
HIP_ON_CPU_BITS(__int_as_float, float, int)
HIP_ON_CPU_BITS(__uint_as_float, float, unsigned)
HIP_ON_CPU_BITS(__double_as_longlong, long long, double)
HIP_ON_CPU_BITS(__longlong_as_double, double, long long)
#undef HIP_ON_CPU_BITS

// On GPUs these are faster and less exact.
inline float __expf(float x) { return expf(x); }
inline float __logf(float x) { return logf(x); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __fdividef(float x, float y) { return x / y; }

template <typename T>
inline T __ldg(const T* from) {
  return *from;
}
