// SPDX-License-Identifier: Apache-2.0
//
// The counter of looks. Invariant: each thread counts its own.
#include "base/waiting/polling_loop.hpp"

namespace meshmem {

constinit thread_local Looks looks;

void yield_in_polling_loop() {
  looks.in_vain = 0;
  if (progress_of_waits) progress_of_waits();
  yield_core();
}

}  // namespace meshmem
