// SPDX-License-Identifier: Apache-2.0
//
// Tests that prove more the longer they run: a short form for every build, and a long one
// (MESHMEM_TEST_LONG=1) for somebody who has changed the tested code.
#ifndef MESHMEM_TESTS_API_LONG_FORM_HPP
#define MESHMEM_TESTS_API_LONG_FORM_HPP

#include <cstdlib>

namespace meshmem {

inline int short_or_long(int short_form, int long_form) {
  static const bool is_long = std::getenv("MESHMEM_TEST_LONG") != nullptr;
  return is_long ? long_form : short_form;
}

}  // namespace meshmem

#endif
