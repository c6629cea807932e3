// SPDX-License-Identifier: Apache-2.0
//
// Rounds of expert parallelism for moe_test.cpp: what tokens choose and hold, what experts make of
// them, and, by plain loops on the host, what then has to be where.
// Invariant: everything follows from the shape, the round and the PE, the same on the host and in
// kernels. So each PE knows what the others do.
#ifndef MESHMEM_TESTS_DEVICE_MOE_MODEL_HPP
#define MESHMEM_TESTS_DEVICE_MOE_MODEL_HPP

#include <cmath>
#include <numeric>

#include "own_stream.hpp"

namespace meshmem {

enum class Routing { any, one_expert, nobody };

// A handle's shape, and how its rounds come about.
struct Kind {
  shmemx_moe_shape_t shape;
  Routing routing;
  bool all_tokens;  // each PE has max_tokens in each round
  int seed;
};

__host__ __device__ inline uint32_t drawn(const Kind& kind, int what, int round, int pe, int at) {
  uint32_t bits = static_cast<uint32_t>(kind.seed) * 0x9e3779b1u;
  for (const int number : {what, round, pe, at}) {
    bits = (bits ^ static_cast<uint32_t>(number)) * 0x85ebca6bu;
    bits ^= bits >> 15;
  }
  bits *= 0xc2b2ae35u;
  return bits ^ bits >> 16;
}

// PEs have none, all, or some.
__host__ __device__ inline int tokens_of(const Kind& kind, int round, int pe) {
  const uint32_t dice = drawn(kind, 0, round, pe, 0);
  const int most = kind.shape.max_tokens;
  if (kind.all_tokens || dice % 4 == 0) return most;
  return dice % 4 == 1 ? 0 : static_cast<int>(dice / 4 % static_cast<uint32_t>(most + 1));
}
// Choice k of token t is number t * top_k + k. A token may choose an expert twice.
__host__ __device__ inline int index_of(const Kind& kind, int round, int pe, int choice) {
  const uint32_t dice = drawn(kind, 1, round, pe, choice);
  if (kind.routing == Routing::nobody || dice % 8 == 0) return -1;
  if (kind.routing == Routing::one_expert) return kind.shape.experts - 1;
  return static_cast<int>(dice / 8 % static_cast<uint32_t>(kind.shape.experts));
}

__host__ __device__ inline int bytes_of_type(int type) {
  return type == SHMEMX_MOE_FLOAT ? 4 : type == SHMEMX_MOE_FP8 ? 1 : 2;
}
// The bits of finite numbers of all signs, not far from 1.
__host__ __device__ inline uint32_t float_bits(uint32_t dice) {
  return (dice & 0x807fffffu) | (120 + (dice >> 24) % 12) << 23;
}
__host__ __device__ inline uint32_t element_of(const Kind& kind, int round, int pe, int token,
                                               int i) {
  const uint32_t dice = drawn(kind, 2, round, pe, token * kind.shape.hidden + i);
  if (kind.shape.type == SHMEMX_MOE_FLOAT) return float_bits(dice);
  if (kind.shape.type == SHMEMX_MOE_BFLOAT16) return float_bits(dice) >> 16;
  if (kind.shape.type == SHMEMX_MOE_HALF) return (dice & 0x83ffu) | (10 + (dice >> 16) % 8) << 10;
  return dice & 0xff;
}
__host__ __device__ inline uint32_t scale_of(const Kind& kind, int round, int pe, int token,
                                             int i) {
  return float_bits(drawn(kind, 3, round, pe, token * 8192 + i));
}
__host__ __device__ inline uint32_t weight_of(const Kind& kind, int round, int pe, int choice) {
  const uint32_t dice = drawn(kind, 4, round, pe, choice);
  return dice % 16 == 0 ? 0 : float_bits(dice);
}

// An expert turns a token around. Its number and the scale decide the sign.
__host__ __device__ inline uint32_t result_of(const Kind& kind, int expert, uint32_t element,
                                              uint32_t scale) {
  const uint32_t sign = (static_cast<uint32_t>(expert) + scale) & 1;
  switch (kind.shape.type) {
    case SHMEMX_MOE_FLOAT:
      return element ^ sign << 31;
    case SHMEMX_MOE_FP8:  // a number of bfloat16, or the bits of a float
      return kind.shape.result_type == SHMEMX_MOE_FLOAT ? (0x3f000000u | element << 10) ^ sign << 31
                                                        : (0x3f00u | element) ^ sign << 15;
    default:
      return element ^ sign << 15;
  }
}

__host__ __device__ inline uint32_t load_element(const void* array, size_t i, int bytes) {
  if (bytes == 4) return static_cast<const uint32_t*>(array)[i];
  if (bytes == 2) return static_cast<const uint16_t*>(array)[i];
  return static_cast<const uint8_t*>(array)[i];
}
__host__ __device__ inline void store_element(void* array, size_t i, int bytes, uint32_t bits) {
  if (bytes == 4) static_cast<uint32_t*>(array)[i] = bits;
  if (bytes == 2) static_cast<uint16_t*>(array)[i] = static_cast<uint16_t>(bits);
  if (bytes == 1) static_cast<uint8_t*>(array)[i] = static_cast<uint8_t>(bits);
}

// ---- Numbers of result types on the host

inline float as_float(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
inline float number_of(int type, uint32_t bits) {
  if (type == SHMEMX_MOE_FLOAT) return as_float(bits);
  if (type == SHMEMX_MOE_BFLOAT16) return as_float(bits << 16);
  const float magnitude = (bits & 0x7c00) == 0
                              ? std::ldexp(static_cast<float>(bits & 0x3ff), -24)
                              : std::ldexp(static_cast<float>((bits & 0x3ff) | 0x400),
                                           static_cast<int>(bits >> 10 & 31) - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}
// Rounded to nearest, ties to even. No number here is too large for the type.
inline uint32_t bits_of(int type, float value) {
  const uint32_t bits = bits_of(value);
  if (type == SHMEMX_MOE_FLOAT) return bits;
  if (type == SHMEMX_MOE_BFLOAT16) return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  const uint32_t sign = bits >> 16 & 0x8000;
  const float magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  const int exponent = std::max(std::ilogb(magnitude), -14);
  const auto steps = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  return sign | ((static_cast<uint32_t>(exponent + 14) << 10) + steps);
}

// ---- What has to be where

struct Origin {
  int pe, token;  // pe of the world; -1: no row is there
};

class Expected {
 public:
  // pes: of the team, in its order.
  Expected(const Kind& kind, const std::vector<int>& pes, int round) : kind_(kind), round_(round) {
    const int n = static_cast<int>(pes.size()), experts = kind.shape.experts;
    kept_.resize(static_cast<size_t>(kind.shape.max_tokens) * top_k());
    std::vector<std::vector<Origin>> rows(static_cast<size_t>(experts));
    for (const int pe : pes) {
      const int choices = tokens_of(kind, round, pe) * kind.shape.top_k;
      for (int choice = 0; choice < choices; ++choice) {
        const int expert = index_of(kind, round, pe, choice);
        if (expert < 0) continue;
        auto& list = rows[static_cast<size_t>(expert)];
        const bool fits =
            kind.shape.capacity == 0 || list.size() < static_cast<size_t>(kind.shape.capacity);
        if (fits) list.push_back({pe, choice / kind.shape.top_k});
        if (pe != my_pe()) continue;
        kept_[static_cast<size_t>(choice)] = fits;
        if (!fits) ++dropped;
      }
    }
    int first = 0;
    for (int i = 0; i < n; ++i) {
      const int mine = experts / n + (i < experts % n ? 1 : 0);
      if (pes[static_cast<size_t>(i)] == my_pe()) take(rows, first, mine);
      first += mine;
    }
  }

  int dropped = 0;
  int first_expert = 0;
  std::vector<int> counts, offsets;
  std::vector<Origin> rows;  // up to the last offset

  // The bits of out[token][i].
  uint32_t sum(int token, int i) const {
    const shmemx_moe_shape_t& shape = kind_.shape;
    float sum = 0;
    for (int k = 0; k < shape.top_k; ++k) {
      const int choice = token * shape.top_k + k;
      if (!kept_[static_cast<size_t>(choice)]) continue;
      const int from = shape.hidden - 1 - i;
      const uint32_t result =
          result_of(kind_, index_of(kind_, round_, my_pe(), choice),
                    element_of(kind_, round_, my_pe(), token, from),
                    shape.type == SHMEMX_MOE_FP8
                        ? scale_of(kind_, round_, my_pe(), token, from / SHMEMX_MOE_SCALED_ELEMENTS)
                        : 0);
      sum = std::fma(as_float(weight_of(kind_, round_, my_pe(), choice)),
                     number_of(shape.result_type, result), sum);
    }
    return bits_of(shape.result_type, sum);
  }

 private:
  size_t top_k() const { return static_cast<size_t>(kind_.shape.top_k); }
  void take(const std::vector<std::vector<Origin>>& of_expert, int first, int n) {
    first_expert = first;
    offsets.push_back(0);
    for (int e = first; e < first + n; ++e) {
      const auto& list = of_expert[static_cast<size_t>(e)];
      counts.push_back(static_cast<int>(list.size()));
      rows.insert(rows.end(), list.begin(), list.end());
      if (kind_.shape.capacity > 0)
        rows.resize(static_cast<size_t>(e - first + 1) * static_cast<size_t>(kind_.shape.capacity),
                    {-1, 0});
      offsets.push_back(static_cast<int>(rows.size()));
    }
  }

  const Kind kind_;
  const int round_;
  std::vector<bool> kept_;  // of this PE's choices
};

}  // namespace meshmem

#endif
