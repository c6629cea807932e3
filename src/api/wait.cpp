// SPDX-License-Identifier: Apache-2.0
//
// Point-to-point synchronization (OpenSHMEM 1.6, section 9.11) and the waiting side of signals
// (9.8.7 and 9.8.8).
// Invariant: a variable is read by one acquire load of its width, so that what was written before
// it can be read once the condition holds; a variable in device memory by a copy, again and again.
// Six representations serve all types.
#include "base/wait.hpp"

#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "api/entry.hpp"
#include "api/host_copy.hpp"
#include "api/transfer.hpp"
#include "base/polling_loop.hpp"
#include "device/comparison.hpp"
#include "memory/place_text.hpp"
#include "memory/room.hpp"

namespace meshmem {
namespace {

template <typename T>
T load(const T* variable) {
  return __atomic_load_n(variable, __ATOMIC_ACQUIRE);
}

const char* sign_of(int cmp) {
  constexpr const char* kSigns[] = {"==", "!=", ">", "<=", "<", ">="};
  return kSigns[cmp];
}

// Checked once a call: the loops need not. True: the variables are in device memory.
template <typename T>
bool check_wait(const char* routine, const T* variables, std::size_t count, int cmp) {
  require_active(routine);
  if (!device::is_comparison(cmp)) fatal("{}: {} is not a comparison of SHMEM_CMP_*", routine, cmp);
  const std::size_t bytes = bytes_of(routine, count, sizeof(T));
  const int me = address_map.my_pe;
  if (count > 0 && !try_translate(direct_map, variables, bytes, me) &&
      !find_in_block(routine, variables, bytes, me)) [[unlikely]] {
    check_block(routine, variables, bytes);
    translate_on_device(address_map, variables, bytes, me, routine);
    return true;
  }
  return false;
}

template <typename T, typename Load>
T wait_for(const char* routine, const T* variable, int cmp, T wanted, const Load& load_it) {
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
T wait_for(const char* routine, const T* variable, int cmp, T wanted) {
  return wait_for(routine, variable, cmp, wanted, [](const T* word) { return load(word); });
}
template <typename T>
[[gnu::cold, gnu::noinline]] T wait_for_on_device(const char* routine, const T* variable, int cmp,
                                                  T wanted) {
  return wait_for(routine, variable, cmp, wanted,
                  [routine](const T* word) { return load_from_device(routine, word); });
}

// Copies of those arrays of a call that are in device memory; the variables' is made anew each time
// that they are looked at.
template <typename T>
struct OnDeviceArrays {
  std::unique_ptr<HostCopy<T>> variables;
  std::unique_ptr<HostCopy<int>> status;
  std::unique_ptr<HostCopy<T>> wanted;
};

template <typename T>
const T* copy_once(const char* routine, const T* source, std::size_t count,
                   std::unique_ptr<HostCopy<T>>& copy) {
  if (!source || !is_on_device(source)) return source;
  copy = std::make_unique<HostCopy<T>>(routine, source, count);
  copy->refresh();
  return copy->data();
}

// The variables of one call: which are in, and what each is compared with.
template <typename T>
struct Set {
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
void wait_for_set(const char* routine, const Set<T>& set, const char* which, const Ready& ready) {
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
void wait_all(const char* routine, const Set<T>& set) {
  if (set.copies) [[unlikely]]
    return wait_for_set(routine, set, "all", [&] { return set.all_met(); });
  for (std::size_t i = 0; i < set.count; ++i) {
    if (set.contains(i)) wait_for(routine, set.variables + i, set.cmp, set.wanted_by(i));
  }
}
template <typename T>
std::size_t wait_any(const char* routine, const Set<T>& set) {
  if (set.is_empty()) return SIZE_MAX;
  std::size_t found = SIZE_MAX;
  wait_for_set(routine, set, "any", [&] { return (found = set.find_met()) != SIZE_MAX; });
  return found;
}
template <typename T>
std::size_t wait_some(const char* routine, const Set<T>& set, std::size_t* indices) {
  if (set.is_empty()) return 0;
  std::size_t found = 0;
  wait_for_set(routine, set, "some",
               [&] { return (found = set.report_met(routine, indices)) > 0; });
  return found;
}

// int32_t for int, uint64_t for size_t, ...
template <std::size_t bytes>
using WordOf = std::conditional_t<bytes == 2, std::uint16_t,
                                  std::conditional_t<bytes == 4, std::uint32_t, std::uint64_t>>;
template <typename E>
using Plain = std::conditional_t<std::is_signed_v<E>, std::make_signed_t<WordOf<sizeof(E)>>,
                                 WordOf<sizeof(E)>>;
template <typename E>
const Plain<E>* plain(const E* pointer) {
  return reinterpret_cast<const Plain<E>*>(pointer);
}

template <typename T>
[[gnu::cold, gnu::noinline]] void copy_from_device(const char* routine, Set<T>& set,
                                                   bool variables) {
  set.copies = std::make_unique<OnDeviceArrays<T>>();
  if (variables)
    set.variables = copy_once(routine, set.variables, set.count, set.copies->variables);
  set.status = copy_once(routine, set.status, set.count, set.copies->status);
  if (set.wanted_step > 0)
    set.wanted = copy_once(routine, set.wanted, set.count, set.copies->wanted);
}

template <typename T>
Set<T> make_set(const char* routine, const T* variables, std::size_t count, const int* status,
                int cmp, const T* wanted, std::size_t wanted_step) {
  const bool on_device = check_wait(routine, variables, count, cmp);
  Set<T> set{variables, count, status, wanted, wanted_step, cmp, nullptr};
  if (on_device || any_on_device(status, wanted)) [[unlikely]]
    copy_from_device(routine, set, on_device);
  return set;
}

template <typename E>
Set<Plain<E>> set_of(const char* routine, const E* ivars, std::size_t nelems, const int* status,
                     int cmp, const E& value) {
  return make_set(routine, plain(ivars), nelems, status, cmp, plain(&value), 0);
}
template <typename E>
Set<Plain<E>> set_of(const char* routine, const E* ivars, std::size_t nelems, const int* status,
                     int cmp, const E* values) {
  return make_set(routine, plain(ivars), nelems, status, cmp, plain(values), 1);
}

// The operations of the table. `value` is one value, or a pointer to one for each variable in the
// vector forms.
template <typename E>
void wait_until(const char* routine, E* ivar, int cmp, E value) {
  if (check_wait(routine, ivar, 1, cmp)) [[unlikely]] {
    wait_for_on_device<Plain<E>>(routine, plain(ivar), cmp, static_cast<Plain<E>>(value));
  } else {
    wait_for<Plain<E>>(routine, plain(ivar), cmp, static_cast<Plain<E>>(value));
  }
}
// What a test says; one that fails lets others run, who may make it succeed.
int answer(bool is_met) {
  if (!is_met) note_failed_test();
  return is_met ? 1 : 0;
}

template <typename E>
int test(const char* routine, E* ivar, int cmp, E value) {
  const bool on_device = check_wait(routine, ivar, 1, cmp);
  const Plain<E> seen = on_device ? load_from_device(routine, plain(ivar)) : load(plain(ivar));
  return answer(device::compare<Plain<E>>(seen, cmp, static_cast<Plain<E>>(value)));
}
template <typename E, typename V>
void wait_until_all(const char* routine, E* ivars, std::size_t nelems, const int* status, int cmp,
                    V value) {
  wait_all(routine, set_of<E>(routine, ivars, nelems, status, cmp, value));
}
template <typename E, typename V>
std::size_t wait_until_any(const char* routine, E* ivars, std::size_t nelems, const int* status,
                           int cmp, V value) {
  return wait_any(routine, set_of<E>(routine, ivars, nelems, status, cmp, value));
}
template <typename E, typename V>
std::size_t wait_until_some(const char* routine, E* ivars, std::size_t nelems, std::size_t* indices,
                            const int* status, int cmp, V value) {
  return wait_some(routine, set_of<E>(routine, ivars, nelems, status, cmp, value), indices);
}
template <typename E, typename V>
int test_all(const char* routine, E* ivars, std::size_t nelems, const int* status, int cmp,
             V value) {
  return answer(set_of<E>(routine, ivars, nelems, status, cmp, value).all_met());
}
template <typename E, typename V>
std::size_t test_any(const char* routine, E* ivars, std::size_t nelems, const int* status, int cmp,
                     V value) {
  const std::size_t found = set_of<E>(routine, ivars, nelems, status, cmp, value).find_met();
  answer(found != SIZE_MAX);
  return found;
}
template <typename E, typename V>
std::size_t test_some(const char* routine, E* ivars, std::size_t nelems, std::size_t* indices,
                      const int* status, int cmp, V value) {
  const std::size_t found =
      set_of<E>(routine, ivars, nelems, status, cmp, value).report_met(routine, indices);
  answer(found > 0);
  return found;
}
#define VECTOR_FORM(op)                                 \
  template <typename E, typename... Rest>               \
  auto op##_vector(const char* routine, Rest... rest) { \
    return op<E>(routine, rest...);                     \
  }
VECTOR_FORM(wait_until_all)
VECTOR_FORM(wait_until_any)
VECTOR_FORM(wait_until_some)
VECTOR_FORM(test_all)
VECTOR_FORM(test_any)
VECTOR_FORM(test_some)
#undef VECTOR_FORM

template <typename E>
void wait(const char* routine, E* ivar, E value) {
  wait_until(routine, ivar, SHMEM_CMP_NE, value);
}

}  // namespace

#define WAIT(name, op, E, result, params, args) \
  MESHMEM_ENTRY(result, name, params) { return op<E>("shmem_" #name, MESHMEM_UNWRAP args); }
#define WAITS_OF_TYPE(NAME, TYPE, rma, ext, amo, bit, arith, logic, unused) \
  MESHMEM_IN_##amo(MESHMEM_OPS_WAIT(WAIT, NAME##_, TYPE))
MESHMEM_TYPES(WAITS_OF_TYPE, )
#define OLDER_WAITS_OF_TYPE(NAME, TYPE, old, sum, wait, until, logic, order, arith, unused) \
  MESHMEM_IN_##wait(MESHMEM_OPS_DEPRECATED_WAIT(WAIT, NAME##_, TYPE))                       \
      MESHMEM_IN_##until(MESHMEM_OPS_DEPRECATED_UNTIL(WAIT, NAME##_, TYPE))
MESHMEM_DEPRECATED_TYPES(OLDER_WAITS_OF_TYPE, )
#define MORE_WAITS(name, op, E, result, params, args)      \
  extern "C" MESHMEM_VISIBLE result shmemx_##name params { \
    return op<E>("shmem_" #name, MESHMEM_UNWRAP args);     \
  }
MESHMEM_OPS_WAITS_OF_MANY(MORE_WAITS, short_, short)
MESHMEM_OPS_WAITS_OF_MANY(MORE_WAITS, ushort_, unsigned short)
#undef MORE_WAITS
#undef WAIT
#undef WAITS_OF_TYPE
#undef OLDER_WAITS_OF_TYPE

MESHMEM_ENTRY(void, wait, (long* ivar, long cmp_value)) { wait("shmem_wait", ivar, cmp_value); }

// shmem.h has an overload of this name and type in C++, so the function goes by another name here.
extern "C" MESHMEM_VISIBLE void wait_until_of_long(long* ivar, int cmp,
                                                   long cmp_value) __asm__("shmem_wait_until")
    __attribute__((weak, alias("pshmem_wait_until")));
extern "C" MESHMEM_VISIBLE void pshmem_wait_until(long* ivar, int cmp, long cmp_value) {
  wait_until("shmem_wait_until", ivar, cmp, cmp_value);
}

MESHMEM_ENTRY(std::uint64_t, signal_fetch, (const std::uint64_t* sig_addr)) {
  constexpr const char* kRoutine = "shmem_signal_fetch";
  const bool on_device = check_wait(kRoutine, sig_addr, 1, SHMEM_CMP_EQ);
  if (on_device) return load_from_device(kRoutine, sig_addr);
  const std::uint64_t value = load(sig_addr);
  note_fetch(sig_addr, value);
  return value;
}
MESHMEM_ENTRY(std::uint64_t, signal_wait_until,
              (std::uint64_t * sig_addr, int cmp, std::uint64_t cmp_value)) {
  constexpr const char* kRoutine = "shmem_signal_wait_until";
  const bool on_device = check_wait(kRoutine, sig_addr, 1, cmp);
  return on_device ? wait_for_on_device<std::uint64_t>(kRoutine, sig_addr, cmp, cmp_value)
                   : wait_for<std::uint64_t>(kRoutine, sig_addr, cmp, cmp_value);
}

MESHMEM_ENTRY(void, signal_set, (std::uint64_t * sig_addr, std::uint64_t signal, int pe)) {
  update_signal(Call{"shmem_signal_set"}, sig_addr, signal, SHMEM_SIGNAL_SET, pe);
}
MESHMEM_ENTRY(void, ctx_signal_set,
              (shmem_ctx_t ctx, std::uint64_t* sig_addr, std::uint64_t signal, int pe)) {
  update_signal(CallInContext{"shmem_ctx_signal_set", ctx}, sig_addr, signal, SHMEM_SIGNAL_SET, pe);
}
MESHMEM_ENTRY(void, signal_add, (std::uint64_t * sig_addr, std::uint64_t signal, int pe)) {
  update_signal(Call{"shmem_signal_add"}, sig_addr, signal, SHMEM_SIGNAL_ADD, pe);
}
MESHMEM_ENTRY(void, ctx_signal_add,
              (shmem_ctx_t ctx, std::uint64_t* sig_addr, std::uint64_t signal, int pe)) {
  update_signal(CallInContext{"shmem_ctx_signal_add", ctx}, sig_addr, signal, SHMEM_SIGNAL_ADD, pe);
}

}  // namespace meshmem
