// SPDX-License-Identifier: Apache-2.0
//
// Point-to-point synchronization (OpenSHMEM 1.6, section 9.10) and the waiting side of signals
// (9.8.7 and 9.8.8).
// Invariant: a variable is read by one acquire load of its width, so that what was written before
// it can be read once the condition holds. Four representations serve all types.
#include "base/wait.hpp"

#include <cstdint>
#include <type_traits>

#include "api/entry.hpp"
#include "api/transfer.hpp"

namespace meshmem {
namespace {

template <typename T>
T load(const T* variable) {
  return __atomic_load_n(variable, __ATOMIC_ACQUIRE);
}

template <typename T>
bool holds(T value, int cmp, T wanted) {
  switch (cmp) {
    case SHMEM_CMP_EQ:
      return value == wanted;
    case SHMEM_CMP_NE:
      return value != wanted;
    case SHMEM_CMP_GT:
      return value > wanted;
    case SHMEM_CMP_LE:
      return value <= wanted;
    case SHMEM_CMP_LT:
      return value < wanted;
    default:
      return value >= wanted;
  }
}

const char* sign_of(int cmp) {
  constexpr const char* kSigns[] = {"==", "!=", ">", "<=", "<", ">="};
  return kSigns[cmp];
}

// Checked once a call: the loops need not.
template <typename T>
void check_wait(const char* routine, const T* variables, std::size_t count, int cmp) {
  require_active(routine);
  if (cmp < SHMEM_CMP_EQ || cmp > SHMEM_CMP_GE)
    fatal("{}: {} is not a comparison of SHMEM_CMP_*", routine, cmp);
  if (count > 0 && !try_translate(address_map, variables, count * sizeof(T), address_map.my_pe))
      [[unlikely]] {
    refuse_address(address_map, variables, count * sizeof(T), routine);
  }
}

template <typename T>
T wait_for(const char* routine, const T* variable, int cmp, T wanted) {
  T seen{};
  wait_until_ready([&] { return holds(seen = load(variable), cmp, wanted); },
                   [&] {
                     return fmt::format("{} {} {} in {}, where it is {}",
                                        static_cast<const void*>(variable), sign_of(cmp), wanted,
                                        routine, seen);
                   });
  return seen;
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

  bool contains(std::size_t i) const { return !status || status[i] == 0; }
  T wanted_by(std::size_t i) const { return wanted[i * wanted_step]; }
  bool is_met(std::size_t i) const {
    return contains(i) && holds(load(variables + i), cmp, wanted_by(i));
  }
  bool is_empty() const {
    for (std::size_t i = 0; i < count; ++i) {
      if (contains(i)) return false;
    }
    return true;
  }
  bool all_met() const {
    for (std::size_t i = 0; i < count; ++i) {
      if (contains(i) && !is_met(i)) return false;
    }
    return true;
  }
  // Which of those that hold is found first moves on from call to call, so that none is passed over
  // for ever.
  std::size_t find_met() const {
    static thread_local std::size_t start = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t index = (start + i) % count;
      if (!is_met(index)) continue;
      start = index + 1;
      return index;
    }
    return SIZE_MAX;
  }
  std::size_t list_met(std::size_t* indices) const {
    std::size_t found = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (is_met(i)) indices[found++] = i;
    }
    return found;
  }
};

template <typename T, typename Ready>
void wait_for_set(const char* routine, const Set<T>& set, const Ready& ready) {
  wait_until_ready(ready, [&] {
    return fmt::format("{} variables from {} on in {}", set.count,
                       static_cast<const void*>(set.variables), routine);
  });
}

template <typename T>
void wait_all(const char* routine, const Set<T>& set) {
  for (std::size_t i = 0; i < set.count; ++i) {
    if (set.contains(i)) wait_for(routine, set.variables + i, set.cmp, set.wanted_by(i));
  }
}
template <typename T>
std::size_t wait_any(const char* routine, const Set<T>& set) {
  if (set.is_empty()) return SIZE_MAX;
  std::size_t found = SIZE_MAX;
  wait_for_set(routine, set, [&] { return (found = set.find_met()) != SIZE_MAX; });
  return found;
}
template <typename T>
std::size_t wait_some(const char* routine, const Set<T>& set, std::size_t* indices) {
  if (set.is_empty()) return 0;
  std::size_t found = 0;
  wait_for_set(routine, set, [&] { return (found = set.list_met(indices)) > 0; });
  return found;
}

// int32_t for int, uint64_t for size_t, ...
template <typename E>
using Plain = std::conditional_t<std::is_signed_v<E>,
                                 std::conditional_t<sizeof(E) == 4, std::int32_t, std::int64_t>,
                                 std::conditional_t<sizeof(E) == 4, std::uint32_t, std::uint64_t>>;
template <typename E>
const Plain<E>* plain(const E* pointer) {
  return reinterpret_cast<const Plain<E>*>(pointer);
}

template <typename E>
Set<Plain<E>> set_of(const char* routine, const E* ivars, std::size_t nelems, const int* status,
                     int cmp, const E& value) {
  check_wait(routine, ivars, nelems, cmp);
  return {plain(ivars), nelems, status, plain(&value), 0, cmp};
}
template <typename E>
Set<Plain<E>> set_of(const char* routine, const E* ivars, std::size_t nelems, const int* status,
                     int cmp, const E* values) {
  check_wait(routine, ivars, nelems, cmp);
  return {plain(ivars), nelems, status, plain(values), 1, cmp};
}

// The operations of the table. `value` is one value, or a pointer to one for each variable in the
// vector forms.
template <typename E>
void wait_until(const char* routine, E* ivar, int cmp, E value) {
  check_wait(routine, ivar, 1, cmp);
  wait_for<Plain<E>>(routine, plain(ivar), cmp, static_cast<Plain<E>>(value));
}
// What a test says; one that fails lets others run, who may make it succeed.
int answer(bool is_met) {
  if (!is_met) looked_in_vain();
  return is_met ? 1 : 0;
}

template <typename E>
int test(const char* routine, E* ivar, int cmp, E value) {
  check_wait(routine, ivar, 1, cmp);
  return answer(holds<Plain<E>>(load(plain(ivar)), cmp, static_cast<Plain<E>>(value)));
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
  const std::size_t found = set_of<E>(routine, ivars, nelems, status, cmp, value).list_met(indices);
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

}  // namespace

#define WAIT(name, op, E, result, params, args) \
  MESHMEM_ENTRY(result, name, params) { return op<E>("shmem_" #name, MESHMEM_UNWRAP args); }
#define WAITS_OF_TYPE(NAME, TYPE, rma, ext, amo, bit, arith, logic, unused) \
  MESHMEM_IN_##amo(MESHMEM_OPS_WAIT(WAIT, NAME##_, TYPE))
MESHMEM_TYPES(WAITS_OF_TYPE, )
#undef WAIT
#undef WAITS_OF_TYPE

MESHMEM_ENTRY(std::uint64_t, signal_fetch, (const std::uint64_t* sig_addr)) {
  check_wait("shmem_signal_fetch", sig_addr, 1, SHMEM_CMP_EQ);
  return load(sig_addr);
}
MESHMEM_ENTRY(std::uint64_t, signal_wait_until,
              (std::uint64_t * sig_addr, int cmp, std::uint64_t cmp_value)) {
  check_wait("shmem_signal_wait_until", sig_addr, 1, cmp);
  return wait_for("shmem_signal_wait_until", sig_addr, cmp, cmp_value);
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
