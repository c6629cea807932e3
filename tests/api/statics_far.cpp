// SPDX-License-Identifier: Apache-2.0
//
// Global variables of another translation unit, for statics_test.cpp.
// Invariant: none of them is touched here after it was initialized.
#include "statics_far.hpp"

#include <string>
#include <vector>

namespace meshmem {

long far_zero;
long far_initialized = 0x123456789abcdef0;
alignas(64) int far_array[1000] = {1, 2, 3};
// An object with a constructor is built before main, that is before the library moves the data.
std::string far_text = "a text that is too long to be kept inside of the string itself";
std::vector<int> far_vector = {5, 6, 7};

}  // namespace meshmem
