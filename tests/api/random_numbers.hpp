// SPDX-License-Identifier: Apache-2.0
//
// The random numbers of tests that play random calls, and the time for which they do.
// Invariant: all numbers follow from the seed.
#ifndef MESHMEM_TESTS_API_RANDOM_NUMBERS_HPP
#define MESHMEM_TESTS_API_RANDOM_NUMBERS_HPP

#include <cstdint>
#include <cstdlib>
#include <random>

namespace meshmem {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  size_t below(size_t n) { return engine_() % n; }
  int between(int low, int high) {
    return low + static_cast<int>(below(static_cast<size_t>(high - low + 1)));
  }
  bool one_in(size_t n) { return below(n) == 0; }
  uint64_t bits() { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

// MESHMEM_TEST_SECONDS, or `otherwise`.
inline double seconds_to_play(double otherwise) {
  const char* given = std::getenv("MESHMEM_TEST_SECONDS");
  return given ? std::strtod(given, nullptr) : otherwise;
}

}  // namespace meshmem

#endif
