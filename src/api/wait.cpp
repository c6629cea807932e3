// SPDX-License-Identifier: Apache-2.0
//
// Point-to-point synchronization (OpenSHMEM 1.6, section 9.11) and the waiting side of signals
// (9.8.7 and 9.8.8).
// Invariant: each integer type is treated as the fixed-width type of its size and sign. So
// core/variable_wait.hpp is compiled for six types only: 2, 4 and 8 bytes, signed and unsigned.
#include <cstdint>
#include <type_traits>

#include "api/entry.hpp"
#include "core/variable_wait.hpp"
#include "one_sided/signal_access.hpp"

namespace meshmem {
namespace {

// Plain<int> is int32_t, Plain<size_t> is uint64_t, ...
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

template <typename E>
VariableSet<Plain<E>> set_of(const char* routine, const E* ivars, std::size_t nelems,
                             const int* status, int cmp, const E& value) {
  return make_set(routine, plain(ivars), nelems, status, cmp, plain(&value), 0);
}
template <typename E>
VariableSet<Plain<E>> set_of(const char* routine, const E* ivars, std::size_t nelems,
                             const int* status, int cmp, const E* values) {
  return make_set(routine, plain(ivars), nelems, status, cmp, plain(values), 1);
}

// The operations that the table of waits (MESHMEM_OPS_WAIT) names. `value` is one value for all
// variables; in the vector forms it points to an array with one for each.
template <typename E>
void wait_until(const char* routine, E* ivar, int cmp, E value) {
  wait_until_met<Plain<E>>(routine, plain(ivar), cmp, static_cast<Plain<E>>(value));
}
template <typename E>
int test(const char* routine, E* ivar, int cmp, E value) {
  return test_once<Plain<E>>(routine, plain(ivar), cmp, static_cast<Plain<E>>(value));
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
#define MORE_WAITS(name, op, E, result, params, args)  \
  MESHMEM_EXTENSION_ENTRY(result, name, params) {      \
    return op<E>("shmem_" #name, MESHMEM_UNWRAP args); \
  }
MESHMEM_OPS_WAITS_OF_MANY(MORE_WAITS, short_, short)
MESHMEM_OPS_WAITS_OF_MANY(MORE_WAITS, ushort_, unsigned short)
#undef MORE_WAITS
#undef WAIT
#undef WAITS_OF_TYPE
#undef OLDER_WAITS_OF_TYPE

MESHMEM_ENTRY(void, wait, (long* ivar, long cmp_value)) { wait("shmem_wait", ivar, cmp_value); }

// In C++ shmem.h has an overload shmem_wait_until with these parameters. So the C function has
// another name in this file, and its own in the object file.
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
