// SPDX-License-Identifier: Apache-2.0
// Stacks that do not depend on `ulimit -s`: PMIx has arrays of 100 KB on its own.
// Invariant: PEs keep the user's limit.
// Used by main().
#ifndef MESHMEM_OSHRUN_ROOMY_STACK_HPP_
#define MESHMEM_OSHRUN_ROOMY_STACK_HPP_

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <future>
#include <system_error>
#include <utility>

#include "failure.hpp"

namespace meshmem {

// The threads that are started from now on, PMIx's too.
inline void give_threads_roomy_stacks() {
  constexpr std::size_t kEnough = 1 << 20;
  pthread_attr_t attributes;
  if (::pthread_getattr_default_np(&attributes) != 0) return;
  std::size_t bytes = 0;
  ::pthread_attr_getstacksize(&attributes, &bytes);
  ::pthread_attr_setstacksize(&attributes, std::max(bytes, kEnough));
  ::pthread_setattr_default_np(&attributes);
  ::pthread_attr_destroy(&attributes);
}

// Returns what the call returns on such a thread, or throws what it throws.
template <typename Call>
auto call_on_roomy_stack(Call&& call) {
  std::future<decltype(call())> result;
  try {
    result = std::async(std::launch::async, std::forward<Call>(call));
  } catch (const std::system_error& refusal) {
    throw Failure(kSystemError, fmt::format("cannot start a thread (see ulimit -u): {}",
                                            refusal.code().message()));
  }
  return result.get();
}

}  // namespace meshmem

#endif  // MESHMEM_OSHRUN_ROOMY_STACK_HPP_
