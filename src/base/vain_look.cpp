// SPDX-License-Identifier: Apache-2.0
//
// The counter of vain looks. Invariant: each thread counts its own.
#include "base/vain_look.hpp"

namespace meshmem {

constinit thread_local Looks looks;

void yield_after_looks() {
  looks.in_vain = 0;
  yield_core();
}

}  // namespace meshmem
