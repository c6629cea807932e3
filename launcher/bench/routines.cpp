// SPDX-License-Identifier: Apache-2.0
//
// The table of reductions. Invariant: a type or an operation is one line of it.
#include "bench/routines.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "device/hip_on_cpu/hip/on_cpu/short_floats.h"

namespace meshmem::bench {
namespace {

// Numbers of 16 bits as bits; whole numbers of up to 256 are exact in both.
struct Half {
  std::uint16_t bits;
};
struct Bfloat16 {
  std::uint16_t bits;
};

template <typename E>
E encode(double value) {
  return static_cast<E>(value);
}
template <>
Bfloat16 encode(double value) {
  return {
      static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16)};
}
template <>
Half encode(double value) {
  return {hip_on_cpu::shorten<10, 5>(static_cast<float>(value))};
}

template <typename E>
double decode(E elem) {
  return static_cast<double>(elem);
}
template <>
double decode(Bfloat16 elem) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(elem.bits) << 16);
}
template <>
double decode(Half elem) {
  return hip_on_cpu::lengthen<10, 5>(elem.bits);
}

template <typename E>
constexpr double kRounding = std::is_integral_v<E>         ? 0
                             : std::is_same_v<E, Half>     ? 0x1p-10
                             : std::is_same_v<E, Bfloat16> ? 0x1p-7
                             : std::is_same_v<E, float>    ? 0x1p-23
                                                           : 0x1p-52;

template <typename E>
void fill(void* elems, std::size_t count, const Pattern& values) {
  std::vector<E> encoded(kPeriod);
  std::transform(values.begin(), values.end(), encoded.begin(), encode<E>);
  for (std::size_t at = 0; at < count; at += kPeriod)
    std::copy_n(encoded.begin(), std::min(kPeriod, count - at), static_cast<E*>(elems) + at);
}

template <typename E>
std::size_t count_wrong(const void* elems, std::size_t count, const Pattern& answers, int n) {
  std::size_t wrong = 0;
  for (std::size_t at = 0, i = 0; at < count; ++at, i = i + 1 == kPeriod ? 0 : i + 1) {
    const double answer =
        std::is_integral_v<E> ? std::trunc(answers[i]) : answers[i];  // an average is cut
    const double off = std::abs(decode(static_cast<const E*>(elems)[at]) - answer);
    wrong += !(off <= n * kRounding<E> * std::max(1.0, std::abs(answer)));
  }
  return wrong;
}

// E of the parameters: hosts have no types of 16 bits.
#define ROUTINE(name, op, E, Elem, on_host)                                                        \
  {#name,                                                                                          \
   #op,                                                                                            \
   sizeof(Elem),                                                                                   \
   [](shmem_team_t team, void* dest, const void* source, std::size_t count,                        \
      shmemx_stream_t stream) {                                                                    \
     return shmemx_##name##_##op##_reduce_on_stream(team, static_cast<E*>(dest),                   \
                                                    static_cast<const E*>(source), count, stream); \
   },                                                                                              \
   on_host,                                                                                        \
   fill<Elem>,                                                                                     \
   count_wrong<Elem>},
#define ON_HOST(routine, E)                                                            \
  [](shmem_team_t team, void* dest, const void* source, std::size_t count) {           \
    return routine(team, static_cast<E*>(dest), static_cast<const E*>(source), count); \
  }
#define HOST_TYPE(name, E)                                          \
  ROUTINE(name, sum, E, E, ON_HOST(shmem_##name##_sum_reduce, E))   \
  ROUTINE(name, prod, E, E, ON_HOST(shmem_##name##_prod_reduce, E)) \
  ROUTINE(name, min, E, E, ON_HOST(shmem_##name##_min_reduce, E))   \
  ROUTINE(name, max, E, E, ON_HOST(shmem_##name##_max_reduce, E))   \
  ROUTINE(name, avg, E, E, ON_HOST(shmemx_##name##_avg_reduce, E))
#define KERNEL_TYPE(name, Elem)            \
  ROUTINE(name, sum, void, Elem, nullptr)  \
  ROUTINE(name, prod, void, Elem, nullptr) \
  ROUTINE(name, min, void, Elem, nullptr)  \
  ROUTINE(name, max, void, Elem, nullptr)  \
  ROUTINE(name, avg, void, Elem, nullptr)
const Routine kRoutines[] = {HOST_TYPE(float, float) HOST_TYPE(double, double) HOST_TYPE(
    int, int) HOST_TYPE(long, long) KERNEL_TYPE(half, Half) KERNEL_TYPE(bfloat16, Bfloat16)};
#undef KERNEL_TYPE
#undef HOST_TYPE
#undef ON_HOST
#undef ROUTINE

std::vector<std::string> distinct(std::string_view Routine::*member) {
  std::vector<std::string> names;
  for (const Routine& routine : kRoutines) {
    const std::string name(routine.*member);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

// A product has two factors that are not 1.
double value_of(const Routine& routine, std::size_t i, int pe, int n, unsigned seed) {
  const std::size_t turn = i + seed;
  if (routine.op == "prod") {
    const auto size = static_cast<std::size_t>(n);
    const auto me = static_cast<std::size_t>(pe);
    return turn % size == me ? -3 : (turn * 7 + 1) % size == me ? 2 : 1;
  }
  return static_cast<double>((turn * 7 + static_cast<std::size_t>(pe) * 5) % 11) - 3;
}

double combine(const Routine& routine, double a, double b) {
  if (routine.op == "prod") return a * b;
  if (routine.op == "min") return std::min(a, b);
  if (routine.op == "max") return std::max(a, b);
  return a + b;
}

}  // namespace

const Routine* find_routine(std::string_view type, std::string_view op) {
  const auto found = std::find_if(
      std::begin(kRoutines), std::end(kRoutines),
      [&](const Routine& routine) { return routine.type == type && routine.op == op; });
  return found == std::end(kRoutines) ? nullptr : found;
}
std::vector<std::string> type_names() { return distinct(&Routine::type); }
std::vector<std::string> op_names() { return distinct(&Routine::op); }

Pattern values_of(const Routine& routine, int pe, int n, unsigned seed) {
  Pattern values(kPeriod);
  for (std::size_t i = 0; i < kPeriod; ++i) values[i] = value_of(routine, i, pe, n, seed);
  return values;
}

Pattern answers_of(const Routine& routine, int n, unsigned seed) {
  Pattern answers = values_of(routine, 0, n, seed);
  for (int pe = 1; pe < n; ++pe) {
    const Pattern values = values_of(routine, pe, n, seed);
    for (std::size_t i = 0; i < kPeriod; ++i) answers[i] = combine(routine, answers[i], values[i]);
  }
  if (routine.op == "avg")
    for (double& answer : answers) answer /= n;
  return answers;
}

}  // namespace meshmem::bench
