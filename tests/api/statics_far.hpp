// SPDX-License-Identifier: Apache-2.0
//
// Global variables that statics_far.cpp defines and statics_test.cpp puts to.
#ifndef MESHMEM_TESTS_API_STATICS_FAR_HPP
#define MESHMEM_TESTS_API_STATICS_FAR_HPP

#include <string>
#include <vector>

namespace meshmem {

extern long far_zero;
extern long far_initialized;
extern int far_array[1000];
extern std::string far_text;
extern std::vector<int> far_vector;

}  // namespace meshmem

#endif
