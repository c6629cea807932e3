// SPDX-License-Identifier: Apache-2.0
//
// The shared part of the API tests: arrays in the symmetric heap, and values that no mistake
// produces by chance. Checks of whole arrays report the first wrong element only. Invariant:
// sample<E>(seed) has all bits of E in use (top bit, beyond 32 bits, negative) and differs between
// seeds. So a value from the wrong PE, index or round is seen.
#ifndef MESHMEM_TESTS_API_SYMMETRIC_ARRAY_HPP
#define MESHMEM_TESTS_API_SYMMETRIC_ARRAY_HPP

#include <gtest/gtest.h>
#include <shmem.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace meshmem {

inline int my_pe() { return shmem_my_pe(); }
inline int n_pes() { return shmem_n_pes(); }
inline int next_pe(int distance = 1) { return (my_pe() + distance) % n_pes(); }
// Whether the memory of this PE is mapped here.
inline bool is_near(int pe) {
  return shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, SHMEM_TEAM_SHARED) >= 0;
}
inline bool is_far_pe_there() { return shmem_team_n_pes(SHMEM_TEAM_SHARED) < n_pes(); }
inline int previous_pe(int distance = 1) {
  return (my_pe() + n_pes() - distance % n_pes()) % n_pes();
}

// Every bit of the result depends on every bit of x (the finalizer of the splitmix64 generator).
inline uint64_t scramble(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Returns PE 0's value on all PEs.
inline uint64_t agreed(uint64_t mine) {
  static uint64_t word;
  word = mine;
  shmem_uint64_broadcast(SHMEM_TEAM_WORLD, &word, &word, 1, 0);
  return word;
}
// A seed that MESHMEM_TEST_SEED gives, or one that no run had before.
inline uint64_t agreed_seed() {
  const char* given = std::getenv("MESHMEM_TEST_SEED");
  return agreed(given ? std::strtoull(given, nullptr, 10) : std::random_device{}());
}

template <typename E>
constexpr bool is_complex =
    std::is_same_v<E, meshmem_complexf> || std::is_same_v<E, meshmem_complexd>;

// The type of the parts of a complex type.
template <typename E>
using PartOf = std::conditional_t<std::is_same_v<E, meshmem_complexf>, float, double>;

template <typename E>
E make_complex(double real, double imaginary) {
  const PartOf<E> parts[] = {static_cast<PartOf<E>>(real), static_cast<PartOf<E>>(imaginary)};
  E value;
  std::memcpy(&value, parts, sizeof value);
  return value;
}

// half and bfloat16, of which the hosts of some targets know the bits only.
template <typename E>
constexpr bool is_short_float = sizeof(E) == sizeof(uint16_t) && !std::is_integral_v<E>;

template <typename E>
E sample(uint64_t seed) {
  const uint64_t bits = scramble(seed);
  if constexpr (std::is_integral_v<E>) {
    return static_cast<E>(bits);
  } else if constexpr (std::is_same_v<E, meshmem_bits128>) {
    return {{bits, ~bits}};
  } else if constexpr (is_short_float<E>) {
    E value;
    std::memcpy(static_cast<void*>(&value), &bits, sizeof value);
    return value;
  } else if constexpr (is_complex<E>) {
    return make_complex<E>(static_cast<double>(static_cast<int64_t>(bits)),
                           static_cast<double>(scramble(bits) >> 3));
  } else {
    return static_cast<E>(static_cast<int64_t>(bits)) / 1024;
  }
}

// The seed of element i of what a PE wrote in a round.
inline uint64_t seed_of(int pe, size_t i, int round = 0) {
  return static_cast<uint64_t>(round) * 1000003u + static_cast<uint64_t>(pe) * 100000u + i;
}

// The part of a value that is compared and printed.
template <typename E>
auto shown(const E& value) {
  if constexpr (is_short_float<E>) {
    uint16_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
  } else {
    return value;
  }
}

template <typename E>
bool same(const E& a, const E& b) {
  if constexpr (std::is_same_v<E, meshmem_bits128>) {
    return a.word[0] == b.word[0] && a.word[1] == b.word[1];
  } else {
    return shown(a) == shown(b);
  }
}

// The bytes of E that hold its value: those of an extended long double end before the type does.
template <typename E>
constexpr size_t kValueBytes =
    std::numeric_limits<E>::digits == 64 && !std::is_integral_v<E> ? 10 : sizeof(E);

// Floating-point patterns that comparisons do not see, and that a way through a register of another
// type could change. They are NaNs with something in their lowest byte, quiet and signaling, of
// both signs, and a negative zero. Complex types have them in both parts.
constexpr size_t kPatterns = 5;

template <typename Real>
void write_pattern(unsigned char* bytes, size_t which) {
  constexpr size_t kSize = kValueBytes<Real>;
  const Real start[kPatterns] = {
      std::numeric_limits<Real>::quiet_NaN(), -std::numeric_limits<Real>::quiet_NaN(),
      std::numeric_limits<Real>::infinity(), -std::numeric_limits<Real>::infinity(), -Real(0)};
  std::memcpy(bytes, &start[which], kSize);
  if (which < 4)
    bytes[0] = static_cast<unsigned char>(0xa1 + which);  // an infinity becomes a signaling NaN
}

template <typename E>
void fill_patterns(E* data) {
  std::memset(static_cast<void*>(data), 0, kPatterns * sizeof(E));
  for (size_t i = 0; i < kPatterns; ++i) {
    auto* bytes = reinterpret_cast<unsigned char*>(&data[i]);
    if constexpr (is_complex<E>) {
      write_pattern<PartOf<E>>(bytes, i);
      write_pattern<PartOf<E>>(bytes + sizeof(PartOf<E>), kPatterns - 1 - i);
    } else {
      write_pattern<E>(bytes, i);
    }
  }
}

// Expects the patterns at data[0], data[stride], ...
template <typename E>
void expect_patterns(const char* what, const E* data, size_t stride = 1) {
  E expected[kPatterns];
  fill_patterns(expected);
  for (size_t i = 0; i < kPatterns; ++i) {
    EXPECT_EQ(std::memcmp(&data[i * stride], &expected[i], kValueBytes<E>), 0)
        << what << ": pattern " << i;
  }
}

// An array in the symmetric heap. Making and dropping one are collective.
template <typename E>
class SymmetricArray {
 public:
  explicit SymmetricArray(size_t size)
      : data_(static_cast<E*>(shmem_malloc(size * sizeof(E)))), size_(size) {
    EXPECT_NE(data_, nullptr) << "the symmetric heap has no " << size * sizeof(E) << " bytes";
  }
  ~SymmetricArray() { shmem_free(data_); }
  SymmetricArray(const SymmetricArray&) = delete;
  SymmetricArray& operator=(const SymmetricArray&) = delete;

  E& operator[](size_t i) { return data_[i]; }
  operator E*() { return data_; }
  E* data() { return data_; }
  size_t size() const { return size_; }

 private:
  E* data_;
  size_t size_;
};

template <typename E>
void fill(E* data, size_t n, int pe, int round = 0) {
  for (size_t i = 0; i < n; ++i) data[i] = sample<E>(seed_of(pe, i, round));
}
// The n elements that `pe` would write in a round.
template <typename E>
std::vector<E> samples(size_t n, int pe, int round = 0) {
  std::vector<E> values(n);
  fill(values.data(), n, pe, round);
  return values;
}

// Expects data[i] to be expected(i) for all i < n.
template <typename E, typename Expected>
void expect_each(const char* what, const E* data, size_t n, const Expected& expected) {
  for (size_t i = 0; i < n; ++i) {
    if (same<E>(data[i], expected(i))) continue;
    ADD_FAILURE() << what << ": element " << i << " of " << n << " is "
                  << testing::PrintToString(shown<E>(data[i])) << ", not "
                  << testing::PrintToString(shown<E>(expected(i)));
    return;
  }
}

// Expects data to be the first n elements that `pe` filled in `round`.
template <typename E>
void expect_filled(const char* what, const E* data, size_t n, int pe, int round = 0) {
  expect_each(what, data, n, [=](size_t i) { return sample<E>(seed_of(pe, i, round)); });
}

// Expects data to be one value all over.
template <typename E>
void expect_all(const char* what, const E* data, size_t n, E value) {
  expect_each(what, data, n, [=](size_t) { return value; });
}

}  // namespace meshmem

#endif
