// SPDX-License-Identifier: Apache-2.0
//
// Elements of PEs for a reduction whose type and operation were drawn at random, and whether its
// result is right. Integers have all bits, and are compared exactly. Floating-point numbers have
// fractions, and are compared with a reference in double.
// Invariant: all follows from a number, which the PEs agree on. A result may be off by one rounding
// of its type for each term, so any order of combination is right; max and min are exact.
#ifndef MESHMEM_TESTS_DEVICE_DRAWN_VALUES_HPP
#define MESHMEM_TESTS_DEVICE_DRAWN_VALUES_HPP

#include "../api/reduction_model.hpp"
#include "device_array.hpp"

namespace meshmem {

enum class Operation { sum, prod, max, min, avg, bit_and, bit_or, bit_xor };
constexpr uint64_t kOperations = 8;

inline Operation operation_of(Op op) {
  constexpr Operation kAll[] = {Operation::sum,     Operation::prod,    Operation::max,
                                Operation::min,     Operation::bit_and, Operation::bit_or,
                                Operation::bit_xor, Operation::avg};
  return kAll[static_cast<int>(op)];  // in the order of Op
}

__host__ __device__ inline uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The distance of 1 from the number after it.
template <typename E>
__host__ __device__ constexpr double spacing() {
  if (std::is_same<E, double>::value) return 1.0 / (uint64_t{1} << 52);
  if (std::is_same<E, float>::value) return 1.0 / (1 << 23);
  return std::is_same<E, meshmem_half>::value ? 1.0 / (1 << 10) : 1.0 / (1 << 7);
}

template <typename E>
__host__ __device__ double in_double(E value) {
  if constexpr (std::is_same<E, double>::value) {
    return value;
  } else {
    return static_cast<float>(value);
  }
}

// Of a product from 0.5 to 2 and of either sign, of the others from -8 to 8.
template <typename E>
__host__ __device__ E fraction(bool of_product, uint64_t bits) {
  const double part = static_cast<double>(bits >> 12) / static_cast<double>(uint64_t{1} << 52);
  const double factor = bits % 2 == 0 ? 0.5 + 1.5 * part : -0.5 - 1.5 * part;
  const double value = of_product ? factor : 16 * part - 8;
  if constexpr (std::is_same<E, double>::value) {
    return value;
  } else {
    return E(static_cast<float>(value));
  }
}

// Element i of what PE `pe` of the team brings.
template <typename E>
__host__ __device__ E drawn(Operation op, uint64_t number, int pe, size_t i) {
  const uint64_t bits = mixed(mixed(number * 64 + static_cast<uint64_t>(pe)) + i * 4099);
  if constexpr (std::is_integral<E>::value) {
    return static_cast<E>(bits);
  } else {
    return fraction<E>(op == Operation::prod, bits);
  }
}

__host__ __device__ inline uint64_t combined(Operation op, uint64_t a, uint64_t b) {
  switch (op) {
    case Operation::prod:
      return a * b;
    case Operation::bit_and:
      return a & b;
    case Operation::bit_or:
      return a | b;
    case Operation::bit_xor:
      return a ^ b;
    default:
      return a + b;
  }
}

template <typename E>
__host__ __device__ bool is_right_integer(E found, Operation op, uint64_t number, size_t i, int n) {
  E total = drawn<E>(op, number, 0, i);
  for (int pe = 1; pe < n; ++pe) {
    const E other = drawn<E>(op, number, pe, i);
    if (op == Operation::max) {
      total = total < other ? other : total;
    } else if (op == Operation::min) {
      total = other < total ? other : total;
    } else {
      total =
          static_cast<E>(combined(op, static_cast<uint64_t>(total), static_cast<uint64_t>(other)));
    }
  }
  return found == (op == Operation::avg ? static_cast<E>(total / static_cast<E>(n)) : total);
}

template <typename E>
__host__ __device__ bool is_right_fraction(E found, Operation op, uint64_t number, size_t i,
                                           int n) {
  double total = in_double(drawn<E>(op, number, 0, i)), size = total < 0 ? -total : total;
  for (int pe = 1; pe < n; ++pe) {
    const double other = in_double(drawn<E>(op, number, pe, i));
    const double other_size = other < 0 ? -other : other;
    if (op == Operation::max) {
      total = total < other ? other : total;
    } else if (op == Operation::min) {
      total = other < total ? other : total;
    } else if (op == Operation::prod) {
      total *= other;
      size *= other_size;
    } else {
      total += other;
      size += other_size;
    }
  }
  if (op == Operation::avg) {
    total /= n;
    size /= n;
  }
  const bool is_exact = op == Operation::max || op == Operation::min;
  const double allowed = is_exact ? 0 : size * n * spacing<E>();
  const double off = in_double(found) - total;
  return off <= allowed && -off <= allowed;
}

// Whether `found` is what element i comes to over the first n PEs of the team.
template <typename E>
__host__ __device__ bool is_right(E found, Operation op, uint64_t number, size_t i, int n) {
  if constexpr (std::is_integral<E>::value) {
    return is_right_integer(found, op, number, i, n);
  } else {
    return is_right_fraction(found, op, number, i, n);
  }
}

// ---- The kernels before and behind a call

struct Failure {
  uint64_t count, number, elem, elems;
};

__device__ inline void note(Failure* failure, uint64_t number, size_t i, size_t elems) {
  if (shmem_uint64_atomic_fetch_inc(&failure->count, shmem_my_pe()) != 0) return;
  failure->number = number;
  failure->elem = i;
  failure->elems = elems;
}

constexpr unsigned char kPoison = 0xff;  // which makes a NaN of a floating-point type

template <typename E>
__device__ void poison(E* element) {
  for (size_t k = 0; k < sizeof(E); ++k) reinterpret_cast<unsigned char*>(element)[k] = kPoison;
}
template <typename E>
__device__ bool is_poison(const E* element) {
  bool all = true;
  for (size_t k = 0; k < sizeof(E); ++k)
    all = all && reinterpret_cast<const unsigned char*>(element)[k] == kPoison;
  return all;
}

template <typename E>
__global__ void prepare_kernel(Operation op, E* source, E* dest, size_t count, uint64_t number,
                               int me) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i <= count; i += gridDim.x * blockDim.x) {
    if (dest != source || i == count) poison(dest + i);
    if (i < count) source[i] = drawn<E>(op, number, me, i);
  }
}

template <typename E>
__global__ void compare_kernel(Operation op, const E* dest, size_t count, uint64_t number, int n,
                               Failure* failure) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i <= count; i += gridDim.x * blockDim.x) {
    const bool right = i == count ? is_poison(dest + i) : is_right(dest[i], op, number, i, n);
    if (!right) note(failure, number, i, count);
  }
}

}  // namespace meshmem

#endif
