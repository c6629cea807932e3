// SPDX-License-Identifier: Apache-2.0
//
// The meaning of the comparisons of waits and tests, apart from the code under test.
// Invariant: C++'s comparison of the element's own type, so that a signed comparison of an unsigned
// type is seen. Included by the tests of waits in host code and in kernels.
#ifndef MESHMEM_TESTS_API_COMPARISON_MODEL_HPP_
#define MESHMEM_TESTS_API_COMPARISON_MODEL_HPP_

#include <shmem.h>

namespace meshmem {

constexpr int kComparisons[] = {SHMEM_CMP_EQ, SHMEM_CMP_NE, SHMEM_CMP_GT,
                                SHMEM_CMP_LE, SHMEM_CMP_LT, SHMEM_CMP_GE};

template <typename E>
bool compare(E a, int cmp, E b) {
  const bool holds[] = {a == b, a != b, a > b,
                        a <= b, a < b,  a >= b};  // in the order of kComparisons
  for (int i = 0; i < 6; ++i)
    if (kComparisons[i] == cmp) return holds[i];
  return false;
}

}  // namespace meshmem

#endif  // MESHMEM_TESTS_API_COMPARISON_MODEL_HPP_
