// SPDX-License-Identifier: Apache-2.0
//
// Waits that the program makes itself: loops around a routine that looks once. They let others run
// as the library's own waits do, or two PEs on one core would part only when the scheduler parts
// them.
// Invariant: what is no wait yields to nobody: only a failed test counts, or the same value at the
// same place many times in a row. Called by api/.
#ifndef MESHMEM_BASE_WAITING_POLLING_LOOP_HPP_
#define MESHMEM_BASE_WAITING_POLLING_LOOP_HPP_

#include <cstdint>

#include "base/waiting/relax.hpp"
#include "base/waiting/wait.hpp"

namespace meshmem {

// Looks before a yield, which takes as long as some tens of them: a few microseconds.
inline constexpr unsigned kPollsPerYield = 1000;

struct Looks {
  std::uint64_t last = 0;  // what was seen, mixed with where
  unsigned in_vain = 0;
};
// Of this thread. Found without a call, since the library is loaded with the program.
extern constinit thread_local Looks looks [[gnu::tls_model("initial-exec")]];

[[gnu::cold]] void yield_in_polling_loop();

// After a test that has failed. With PEs that outnumber the cores the one who could change the
// answer must get to run at once.
inline void note_failed_test() {
  if (wait_policy.polls <= 1) return yield_in_polling_loop();
  if (++looks.in_vain >= kPollsPerYield) [[unlikely]]
    yield_in_polling_loop();
}

// After a fetch, which does not know what the caller hopes for.
inline void note_fetch(const void* address, std::uint64_t value) {
  const std::uint64_t seen = value ^ reinterpret_cast<std::uintptr_t>(address);
  if (seen != looks.last) {
    looks = {.last = seen, .in_vain = 0};
  } else if (++looks.in_vain >= kPollsPerYield) [[unlikely]] {
    yield_in_polling_loop();
  }
}

}  // namespace meshmem

#endif  // MESHMEM_BASE_WAITING_POLLING_LOOP_HPP_
