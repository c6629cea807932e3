// SPDX-License-Identifier: Apache-2.0
//
// Waits for sets of variables of this PE: all, any or some of them (OpenSHMEM 1.6, section 9.11).
// Invariant: the arrays of a call may each be in host or in device memory. Those in device memory
// are looked at in a copy, the variables' made anew for each look. Called by api/wait.cpp.
#ifndef MESHMEM_CORE_VARIABLE_SET_HPP_
#define MESHMEM_CORE_VARIABLE_SET_HPP_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/variable_wait.hpp"
#include "one_sided/one_sided.hpp"

namespace meshmem {

// Copies of those arrays of a call that are in device memory; the variables' is made anew each time
// that they are looked at.
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

// The variables of one call: which are in, and what each is compared with.
template <typename T>
struct VariableSet {
  const T* variables;
  std::size_t count;
  const int* status;  // nullptr: all are in
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
  // Which of those that hold is found first moves on from call to call, so that none is passed over
  // for ever.
  std::size_t find_met() const {
    static thread_local std::size_t start = 0;
    look();
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t index = (start + i) % count;
      if (!is_met(index)) continue;
      start = index + 1;
      return index;
    }
    return SIZE_MAX;
  }
  std::size_t list_met(std::size_t* indices) const {
    look();
    std::size_t found = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (is_met(i)) indices[found++] = i;
    }
    return found;
  }
  // The same for indices that may be anywhere.
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

#endif  // MESHMEM_CORE_VARIABLE_SET_HPP_
