// SPDX-License-Identifier: Apache-2.0
//
// Point-to-point synchronization (OpenSHMEM 1.6, section 9.11) and the waiting side of signals
// (9.8.7 and 9.8.8).
// Invariant: each integer type is treated as the fixed-width type of its size and sign. So
// core/variable_wait.hpp is compiled for six types only: 2, 4 and 8 bytes, signed and unsigned.
#include <cstdint>
#include <type_traits>

#include "api/entry.hpp"
#include "collectives/combine.hpp"
#include "core/variable_wait.hpp"
#include "one_sided/signal_access.hpp"

namespace meshmem {
namespace {

// The fixed-width type of E's size and sign: int32_t for int, uint64_t for size_t.
template <typename E>
using Representation = decltype(representation_of<E, true>());
template <typename E>
const Representation<E>* represented(const E* pointer) {
  return reinterpret_cast<const Representation<E>*>(pointer);
}

// `wanted` is one value for all variables, or a pointer to an array with a value for each.
template <typename E, typename V>
VariableSet<Representation<E>> checked_set(const char* routine, const E* ivars, std::size_t nelems,
                                           const int* status, int cmp, const V& wanted) {
  if constexpr (std::is_pointer_v<V>) {
    return make_set(routine, represented(ivars), nelems, status, cmp, represented(wanted), 1);
  } else {
    return make_set(routine, represented(ivars), nelems, status, cmp, represented(&wanted), 0);
  }
}

// The operations that the table of waits (MESHMEM_OPS_WAIT) names.
template <typename E>
void wait_until(const char* routine, E* ivar, int cmp, E value) {
  wait_until_met(routine, represented(ivar), cmp, static_cast<Representation<E>>(value));
}
template <typename E>
int test(const char* routine, E* ivar, int cmp, E value) {
  return test_once(routine, represented(ivar), cmp, static_cast<Representation<E>>(value));
}
template <typename E, typename V>
void wait_until_all(const char* routine, E* ivars, std::size_t nelems, const int* status, int cmp,
                    V value) {
  wait_all(routine, checked_set(routine, ivars, nelems, status, cmp, value));
}
template <typename E, typename V>
std::size_t wait_until_any(const char* routine, E* ivars, std::size_t nelems, const int* status,
                           int cmp, V value) {
  return wait_any(routine, checked_set(routine, ivars, nelems, status, cmp, value));
}
template <typename E, typename V>
std::size_t wait_until_some(const char* routine, E* ivars, std::size_t nelems, std::size_t* indices,
                            const int* status, int cmp, V value) {
  return wait_some(routine, checked_set(routine, ivars, nelems, status, cmp, value), indices);
}
template <typename E, typename V>
int test_all(const char* routine, E* ivars, std::size_t nelems, const int* status, int cmp,
             V value) {
  return answer(checked_set(routine, ivars, nelems, status, cmp, value).all_met());
}
template <typename E, typename V>
std::size_t test_any(const char* routine, E* ivars, std::size_t nelems, const int* status, int cmp,
                     V value) {
  const std::size_t found = checked_set(routine, ivars, nelems, status, cmp, value).find_met();
  answer(found != SIZE_MAX);
  return found;
}
template <typename E, typename V>
std::size_t test_some(const char* routine, E* ivars, std::size_t nelems, std::size_t* indices,
                      const int* status, int cmp, V value) {
  const std::size_t found =
      checked_set(routine, ivars, nelems, status, cmp, value).report_met(routine, indices);
  answer(found > 0);
  return found;
}
// The forms with a value for each variable.
#define DEFINE_VECTOR_FORM(op)                          \
  template <typename E, typename... Rest>               \
  auto op##_vector(const char* routine, Rest... rest) { \
    return op<E>(routine, rest...);                     \
  }
DEFINE_VECTOR_FORM(wait_until_all)
DEFINE_VECTOR_FORM(wait_until_any)
DEFINE_VECTOR_FORM(wait_until_some)
DEFINE_VECTOR_FORM(test_all)
DEFINE_VECTOR_FORM(test_any)
DEFINE_VECTOR_FORM(test_some)
#undef DEFINE_VECTOR_FORM

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
#define EXTENSION_WAIT(name, op, E, result, params, args) \
  MESHMEM_EXTENSION_ENTRY(result, name, params) {         \
    return op<E>("shmem_" #name, MESHMEM_UNWRAP args);    \
  }
MESHMEM_OPS_WAITS_OF_MANY(EXTENSION_WAIT, short_, short)
MESHMEM_OPS_WAITS_OF_MANY(EXTENSION_WAIT, ushort_, unsigned short)
#undef EXTENSION_WAIT
#undef WAIT
#undef WAITS_OF_TYPE
#undef OLDER_WAITS_OF_TYPE

MESHMEM_ENTRY(void, wait, (long* ivar, long cmp_value)) { wait("shmem_wait", ivar, cmp_value); }

// In C++ shmem.h has an overload shmem_wait_until with these parameters. So the C function has
// another name here. In the object file it has the name of the standard.
extern "C" MESHMEM_VISIBLE void wait_until_of_long(long* ivar, int cmp,
                                                   long cmp_value) __asm__("shmem_wait_until")
    __attribute__((weak, alias("pshmem_wait_until")));
extern "C" MESHMEM_VISIBLE void pshmem_wait_until(long* ivar, int cmp, long cmp_value) {
  wait_until("shmem_wait_until", ivar, cmp, cmp_value);
}

MESHMEM_ENTRY(std::uint64_t, signal_fetch, (const std::uint64_t* sig_addr)) {
  return fetch_signal("shmem_signal_fetch", sig_addr);
}
MESHMEM_ENTRY(std::uint64_t, signal_wait_until,
              (std::uint64_t * sig_addr, int cmp, std::uint64_t cmp_value)) {
  return wait_until_met<std::uint64_t>("shmem_signal_wait_until", sig_addr, cmp, cmp_value);
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
