// SPDX-License-Identifier: Apache-2.0
//
// Waits for one variable of this PE (OpenSHMEM 1.6, section 9.11), by the representation of its
// type. Invariant: a variable is read by one acquire load of its width, so that what was written
// before it can be read once the condition holds. A variable in device memory is read by a copy,
// again and again. Called by api/wait.cpp and by the waits for sets of variables; static, so that
// its functions become part of those that call them.
#ifndef MESHMEM_CORE_VARIABLE_WAIT_HPP_
#define MESHMEM_CORE_VARIABLE_WAIT_HPP_

#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "base/waiting/polling_loop.hpp"
#include "base/waiting/wait.hpp"
#include "core/call.hpp"
#include "device/comparison.hpp"
#include "gpu/host_copy.hpp"
#include "memory/address_map.hpp"
#include "memory/argument_checks.hpp"
#include "memory/place_text.hpp"
#include "shmem.h"

namespace meshmem {

template <typename T>
static inline T load(const T* variable) {
  return __atomic_load_n(variable, __ATOMIC_ACQUIRE);
}

inline const char* sign_of(int cmp) {
  constexpr const char* kSigns[] = {"==", "!=", ">", "<=", "<", ">="};
  return kSigns[cmp];
}

// Checked once a call: the loops need not. True: the variables are in device memory.
template <typename T>
static bool check_wait(const char* routine, const T* variables, std::size_t count, int cmp) {
  require_active(routine);
  if (!device::is_comparison(cmp)) fatal("{}: {} is not a comparison of SHMEM_CMP_*", routine, cmp);
  const std::size_t bytes = bytes_of(routine, count, sizeof(T));
  const int me = address_map.my_pe;
  if (count > 0 && !is_in_segment(direct_map, variables, bytes) &&
      !is_mapped(find_in_block(routine, variables, bytes, me))) [[unlikely]] {
    check_block(routine, variables, bytes);
    translate_on_device(address_map, variables, bytes, me, routine);
    return true;
  }
  return false;
}

template <typename T, typename Load>
static T wait_for(const char* routine, const T* variable, int cmp, T wanted, const Load& load_it) {
  T seen{};
  wait_until_ready([&] { return device::compare(seen = load_it(variable), cmp, wanted); },
                   [&] {
                     return fmt::format("the variable at {}, now {}, to be {} {}, in {}",
                                        place_text(address_map, variable), seen, sign_of(cmp),
                                        wanted, routine);
                   });
  return seen;
}

template <typename T>
static T wait_for(const char* routine, const T* variable, int cmp, T wanted) {
  return wait_for(routine, variable, cmp, wanted, [](const T* word) { return load(word); });
}
template <typename T>
[[gnu::cold, gnu::noinline]] static T wait_for_on_device(const char* routine, const T* variable,
                                                         int cmp, T wanted) {
  return wait_for(routine, variable, cmp, wanted,
                  [routine](const T* word) { return load_from_device(routine, word); });
}

// Checks the variable, and waits. The value that was seen when the condition held.
template <typename T>
static T wait_until_met(const char* routine, const T* variable, int cmp, T wanted) {
  if (check_wait(routine, variable, 1, cmp)) [[unlikely]]
    return wait_for_on_device(routine, variable, cmp, wanted);
  return wait_for(routine, variable, cmp, wanted);
}

// The answer of a test; one that fails lets others run, which may make it succeed.
inline int answer(bool is_met) {
  if (!is_met) note_failed_test();
  return is_met ? 1 : 0;
}

template <typename T>
static int test_once(const char* routine, const T* variable, int cmp, T wanted) {
  const bool on_device = check_wait(routine, variable, 1, cmp);
  const T seen = on_device ? load_from_device(routine, variable) : load(variable);
  return answer(device::compare<T>(seen, cmp, wanted));
}

// The value now, of a variable that a program may read in a loop.
inline std::uint64_t fetch_signal(const char* routine, const std::uint64_t* signal) {
  if (check_wait(routine, signal, 1, SHMEM_CMP_EQ)) return load_from_device(routine, signal);
  const std::uint64_t value = load(signal);
  note_fetch(signal, value);
  return value;
}

}  // namespace meshmem

#endif  // MESHMEM_CORE_VARIABLE_WAIT_HPP_
