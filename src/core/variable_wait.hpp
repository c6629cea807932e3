// SPDX-License-Identifier: Apache-2.0
//
// Waits for one variable of this PE, or for all, any or some of a set (OpenSHMEM 1.6, section
// 9.11).
// Invariant: a variable is read by one acquire load of its width, so that what was written before
// it can be read once the condition holds. Each array of a call may be in device memory, which is
// read by copies. The copy of the variables is made anew for each look. Called by api/wait.cpp;
// static, so that its functions become part of those that call them.
#ifndef MESHMEM_CORE_VARIABLE_WAIT_HPP_
#define MESHMEM_CORE_VARIABLE_WAIT_HPP_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/waiting/wait.hpp"
#include "core/call.hpp"
#include "device/comparison.hpp"
#include "gpu/host_copy.hpp"
#include "memory/address_map.hpp"
#include "memory/argument_checks.hpp"
#include "one_sided/one_sided.hpp"
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

// Checks the arguments once a call, so that the loops need not. Returns whether the variables are
// in device memory.
template <typename T>
static bool check_wait(const char* routine, const T* variables, std::size_t count, int cmp) {
  require_active(routine);
  if (!device::is_comparison(cmp)) fatal("{}: {} is not a comparison of SHMEM_CMP_*", routine, cmp);
  const std::size_t bytes = bytes_of(routine, count, sizeof(T));
  if (count > 0) check_alignment(routine, variables, sizeof(T));
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

// Checks the variable, and waits. Returns the value with which the condition held.
template <typename T>
static T wait_until_met(const char* routine, const T* variable, int cmp, T wanted) {
  if (check_wait(routine, variable, 1, cmp)) [[unlikely]]
    return wait_for_on_device(routine, variable, cmp, wanted);
  return wait_for(routine, variable, cmp, wanted);
}

// Returns the answer of a test. A test that fails lets other PEs run, so that the next one may
// succeed.
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

// The signal's value now. A program may call this in a loop.
inline std::uint64_t fetch_signal(const char* routine, const std::uint64_t* signal) {
  if (check_wait(routine, signal, 1, SHMEM_CMP_EQ)) return load_from_device(routine, signal);
  const std::uint64_t value = load(signal);
  note_fetch(signal, value);
  return value;
}

// --- Sets of variables -----------------------------------------------------------------------

// Copies of those arrays of a call that are in device memory; nullptr for the others.
template <typename T>
struct OnDeviceArrays {
  std::unique_ptr<HostCopy<T>> variables;
  std::unique_ptr<HostCopy<int>> status;
  std::unique_ptr<HostCopy<T>> wanted;
};

template <typename T>
static const T* copy_once(const char* routine, const T* source, std::size_t count,
                          std::unique_ptr<HostCopy<T>>& copy) {
  if (!source || !is_on_device(source)) return source;
  copy = std::make_unique<HostCopy<T>>(routine, source, count);
  copy->refresh();
  return copy->data();
}

// The variables of one call: which are included, and what each is compared with.
template <typename T>
struct VariableSet {
  const T* variables;
  std::size_t count;
  const int* status;  // nullptr: all are included
  const T* wanted;
  std::size_t wanted_step;  // 0: all are compared with the same value
  int cmp;
  std::unique_ptr<OnDeviceArrays<T>> copies;  // nullptr: all arrays are in host memory

  void look() const {
    if (copies && copies->variables) [[unlikely]]
      copies->variables->refresh();
  }
  bool contains(std::size_t i) const { return !status || status[i] == 0; }
  T wanted_by(std::size_t i) const { return wanted[i * wanted_step]; }
  bool is_met(std::size_t i) const {
    return contains(i) && device::compare(load(variables + i), cmp, wanted_by(i));
  }
  bool is_empty() const {
    for (std::size_t i = 0; i < count; ++i) {
      if (contains(i)) return false;
    }
    return true;
  }
  bool all_met() const {
    look();
    for (std::size_t i = 0; i < count; ++i) {
      if (contains(i) && !is_met(i)) return false;
    }
    return true;
  }
  // Returns the index of a variable that meets its condition, or SIZE_MAX. Each search begins at a
  // random variable, so that none is passed over for ever, whichever sets the thread searches.
  std::size_t find_met() const {
    static thread_local std::uint64_t random = 0;
    random = random * 6364136223846793005u + 1442695040888963407u;
    look();
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t index = (static_cast<std::size_t>(random >> 33) + i) % count;
      if (is_met(index)) return index;
    }
    return SIZE_MAX;
  }
  // Lists the variables that meet their condition, and returns how many there are.
  std::size_t list_met(std::size_t* indices) const {
    look();
    std::size_t found = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (is_met(i)) indices[found++] = i;
    }
    return found;
  }
  // Calls list_met() for `indices` in host or device memory.
  std::size_t report_met(const char* routine, std::size_t* indices) const {
    if (!is_on_device(indices)) [[likely]]
      return list_met(indices);
    std::vector<std::size_t> list(count);
    const std::size_t found = list_met(list.data());
    copy_local(routine, indices, list.data(), found * sizeof list[0]);
    return found;
  }
};

template <typename T, typename Ready>
static void wait_for_set(const char* routine, const VariableSet<T>& set, const char* which,
                         const Ready& ready) {
  wait_until_ready(ready, [&] {
    const T* const place =
        set.copies && set.copies->variables ? set.copies->variables->source() : set.variables;
    const std::string wanted =
        set.wanted_step > 0 ? "the value given for each" : fmt::format("{}", set.wanted_by(0));
    return fmt::format("{} of {} variables from {} on to be {} {}, in {}", which, set.count,
                       place_text(address_map, place), sign_of(set.cmp), wanted, routine);
  });
}

template <typename T>
static void wait_all(const char* routine, const VariableSet<T>& set) {
  if (set.copies) [[unlikely]]
    return wait_for_set(routine, set, "all", [&] { return set.all_met(); });
  for (std::size_t i = 0; i < set.count; ++i) {
    if (set.contains(i)) wait_for(routine, set.variables + i, set.cmp, set.wanted_by(i));
  }
}
template <typename T>
static std::size_t wait_any(const char* routine, const VariableSet<T>& set) {
  if (set.is_empty()) return SIZE_MAX;
  std::size_t found = SIZE_MAX;
  wait_for_set(routine, set, "any", [&] { return (found = set.find_met()) != SIZE_MAX; });
  return found;
}
template <typename T>
static std::size_t wait_some(const char* routine, const VariableSet<T>& set, std::size_t* indices) {
  if (set.is_empty()) return 0;
  std::size_t found = 0;
  wait_for_set(routine, set, "some",
               [&] { return (found = set.report_met(routine, indices)) > 0; });
  return found;
}

template <typename T>
[[gnu::cold, gnu::noinline]] static void copy_from_device(const char* routine, VariableSet<T>& set,
                                                          bool variables) {
  set.copies = std::make_unique<OnDeviceArrays<T>>();
  if (variables)
    set.variables = copy_once(routine, set.variables, set.count, set.copies->variables);
  set.status = copy_once(routine, set.status, set.count, set.copies->status);
  if (set.wanted_step > 0)
    set.wanted = copy_once(routine, set.wanted, set.count, set.copies->wanted);
}

template <typename T>
static VariableSet<T> make_set(const char* routine, const T* variables, std::size_t count,
                               const int* status, int cmp, const T* wanted,
                               std::size_t wanted_step) {
  const bool on_device = check_wait(routine, variables, count, cmp);
  VariableSet<T> set{variables, count, status, wanted, wanted_step, cmp, nullptr};
  if (on_device || any_on_device(status, wanted)) [[unlikely]]
    copy_from_device(routine, set, on_device);
  return set;
}

}  // namespace meshmem

#endif  // MESHMEM_CORE_VARIABLE_WAIT_HPP_
