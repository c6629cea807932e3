/* SPDX-License-Identifier: Apache-2.0
 *
 * The type-generic routines: overloads in C++, _Generic macros in C11. shmem.h includes this last.
 * Invariant: both call the typed C functions, so that a profiling tool sees those names only. A
 * type without a routine is a compile error.
 */
#ifndef MESHMEM_SHMEM_GENERIC_H
#define MESHMEM_SHMEM_GENERIC_H

#include "shmem/older_names.h"

#ifdef __cplusplus

#define MESHMEM_OVERLOAD(name, op, E, result, params, args) \
  MESHMEM_ROUTINE(MESHMEM_SIDES, result, shmem_##op, params, return shmem_##name args;)
#define MESHMEM_OVERLOAD_CTX(name, op, E, result, params, args)               \
  MESHMEM_OVERLOAD(name, op, E, result, params, args)                         \
  MESHMEM_ROUTINE(MESHMEM_SIDES, result, shmem_##op, MESHMEM_WITH_CTX params, \
                  return shmem_ctx_##name MESHMEM_PASS_CTX args;)
#define MESHMEM_SIDES inline
MESHMEM_TYPED_ON_HOST(MESHMEM_OVERLOAD_CTX, MESHMEM_OVERLOAD, MESHMEM_GENERIC)
MESHMEM_DEPRECATED_GENERIC(MESHMEM_OVERLOAD)
MESHMEM_OPS_WAITS_OF_MANY(MESHMEM_OVERLOAD, short_, short)
MESHMEM_OPS_WAITS_OF_MANY(MESHMEM_OVERLOAD, ushort_, unsigned short)
MESHMEM_OPS_DEPRECATED_WAIT(MESHMEM_OVERLOAD, short_, short)
MESHMEM_OPS_DEPRECATED_WAIT(MESHMEM_OVERLOAD, int_, int)
MESHMEM_OPS_DEPRECATED_WAIT(MESHMEM_OVERLOAD, longlong_, long long)
#ifdef MESHMEM_COMPILES_KERNELS
#undef MESHMEM_SIDES
#define MESHMEM_SIDES MESHMEM_HOST_DEVICE
#endif
MESHMEM_TYPED_IN_KERNELS(MESHMEM_OVERLOAD_CTX, MESHMEM_OVERLOAD, MESHMEM_GENERIC)
#define MESHMEM_OVERLOAD_OLDER(NAME, E, generic, unused)                                 \
  MESHMEM_GENERIC_##generic(MESHMEM_OPS_DEPRECATED_OLD(MESHMEM_OVERLOAD, NAME##_, E)     \
                                MESHMEM_OPS_DEPRECATED_SUM(MESHMEM_OVERLOAD, NAME##_, E) \
                                    MESHMEM_OPS_DEPRECATED_WAIT(MESHMEM_OVERLOAD, NAME##_, E))
MESHMEM_OLDER_TYPES(MESHMEM_OVERLOAD_OLDER, )
#undef MESHMEM_OVERLOAD_OLDER

/* std::complex, or a class template like it, for C's complex types, whose layout it has. A
 * template, since <complex> would bring all of <math.h> into programs that have no use for it. The
 * typed names stay functions of one signature, whose address can be taken. */
namespace meshmem {
template <template <class> class Complex>
inline meshmem_complexf* in_c(Complex<float>* numbers) {
  return reinterpret_cast<meshmem_complexf*>(numbers);
}
template <template <class> class Complex>
inline const meshmem_complexf* in_c(const Complex<float>* numbers) {
  return reinterpret_cast<const meshmem_complexf*>(numbers);
}
template <template <class> class Complex>
inline meshmem_complexd* in_c(Complex<double>* numbers) {
  return reinterpret_cast<meshmem_complexd*>(numbers);
}
template <template <class> class Complex>
inline const meshmem_complexd* in_c(const Complex<double>* numbers) {
  return reinterpret_cast<const meshmem_complexd*>(numbers);
}
}  // namespace meshmem
#define MESHMEM_OVERLOAD_COMPLEX(name, op, E, result, params, args)                    \
  template <template <class> class Complex>                                            \
  inline auto shmem_##op params->decltype(source->real() + source->imag(), result()) { \
    static_assert(sizeof *source == sizeof *meshmem::in_c(source), "not two numbers"); \
    return shmem_##name(team, meshmem::in_c(dest), meshmem::in_c(source), nreduce);    \
  }
MESHMEM_OPS_REDUCE_ARITH(MESHMEM_OVERLOAD_COMPLEX, complexf_, Complex<float>)
MESHMEM_OPS_REDUCE_ARITH(MESHMEM_OVERLOAD_COMPLEX, complexd_, Complex<double>)
#undef MESHMEM_OVERLOAD_COMPLEX
#undef MESHMEM_OVERLOAD
#undef MESHMEM_OVERLOAD_CTX

MESHMEM_ROUTINE(MESHMEM_SIDES, void, shmem_signal_add,
                (shmem_ctx_t ctx, uint64_t* sig_addr, uint64_t signal, int pe),
                shmem_ctx_signal_add(ctx, sig_addr, signal, pe);)
MESHMEM_ROUTINE(MESHMEM_SIDES, void, shmem_signal_set,
                (shmem_ctx_t ctx, uint64_t* sig_addr, uint64_t signal, int pe),
                shmem_ctx_signal_set(ctx, sig_addr, signal, pe);)
MESHMEM_ROUTINE(MESHMEM_SIDES, int, shmem_sync, (shmem_team_t team), return shmem_team_sync(team);)
#undef MESHMEM_SIDES

#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L

/* A call of a type-generic name with an unfit type runs into this: it is no function. */
extern const struct meshmem_has_no_routine_for_this_type {
  char nothing;
} meshmem_has_no_routine_for_this_type;

#define MESHMEM_FIRST(...) MESHMEM_FIRST_OF(__VA_ARGS__, 0)
#define MESHMEM_FIRST_OF(a, ...) a
#define MESHMEM_SECOND(...) MESHMEM_SECOND_OF(__VA_ARGS__, 0, 0)
#define MESHMEM_SECOND_OF(a, b, ...) b

/* clang-format off */
/* One row of MESHMEM_TYPES as associations of a _Generic, for pointers to the type and to const of it. */
#define MESHMEM_CASE_rma(NAME, T, rma, ext, amo, bit, arith, logic, pre, op) \
    MESHMEM_GENERIC_##rma(T*: pre##NAME##_##op, const T*: pre##NAME##_##op,)
#define MESHMEM_CASE_ext(NAME, T, rma, ext, amo, bit, arith, logic, pre, op) \
    MESHMEM_GENERIC_##ext(T*: pre##NAME##_##op, const T*: pre##NAME##_##op,)
#define MESHMEM_CASE_amo(NAME, T, rma, ext, amo, bit, arith, logic, pre, op) \
    MESHMEM_GENERIC_##amo(T*: pre##NAME##_##op, const T*: pre##NAME##_##op,)
#define MESHMEM_CASE_bit(NAME, T, rma, ext, amo, bit, arith, logic, pre, op) \
    MESHMEM_GENERIC_##bit(T*: pre##NAME##_##op, const T*: pre##NAME##_##op,)
#define MESHMEM_CASE_arith(NAME, T, rma, ext, amo, bit, arith, logic, pre, op) \
    MESHMEM_GENERIC_##arith(T*: pre##NAME##_##op, const T*: pre##NAME##_##op,)
#define MESHMEM_CASE_logic(NAME, T, rma, ext, amo, bit, arith, logic, pre, op) \
    MESHMEM_GENERIC_##logic(T*: pre##NAME##_##op, const T*: pre##NAME##_##op,)

/* The same of MESHMEM_DEPRECATED_TYPES. */
#define MESHMEM_CASE_old(NAME, T, old, sum, wait, until, logic, order, arith, op) \
    MESHMEM_IN_##old(T*: shmem_##NAME##_##op, const T*: shmem_##NAME##_##op,)
#define MESHMEM_CASE_sum(NAME, T, old, sum, wait, until, logic, order, arith, op) \
    MESHMEM_IN_##sum(T*: shmem_##NAME##_##op, const T*: shmem_##NAME##_##op,)
#define MESHMEM_CASE_wait(NAME, T, old, sum, wait, until, logic, order, arith, op) \
    MESHMEM_IN_##wait(T*: shmem_##NAME##_##op,)
#define MESHMEM_CASE_until(NAME, T, old, sum, wait, until, logic, order, arith, op) \
    MESHMEM_IN_##until(T*: shmem_##NAME##_##op, const T*: shmem_##NAME##_##op,)

/* And of MESHMEM_OLDER_TYPES. */
#define MESHMEM_CASE_older(NAME, T, generic, op) \
    MESHMEM_GENERIC_##generic(T*: shmem_##NAME##_##op, const T*: shmem_##NAME##_##op,)

/* The function for the type of `which`; the call's arguments follow. In SELECT_CTX a context may come first. */
#define MESHMEM_SELECT(family, op, which) \
    _Generic((which), MESHMEM_TYPES(MESHMEM_CASE_##family, shmem_, op) \
             default: meshmem_has_no_routine_for_this_type)
#define MESHMEM_SELECT_CTX(family, op, ...) \
    _Generic((MESHMEM_FIRST(__VA_ARGS__)), MESHMEM_TYPES(MESHMEM_CASE_##family, shmem_, op) \
             shmem_ctx_t: _Generic((MESHMEM_SECOND(__VA_ARGS__)), \
                                   MESHMEM_TYPES(MESHMEM_CASE_##family, shmem_ctx_, op) \
                                   default: meshmem_has_no_routine_for_this_type), \
             default: meshmem_has_no_routine_for_this_type)

#define MESHMEM_SELECT_DEPRECATED(family, op, which) \
    _Generic((which), MESHMEM_DEPRECATED_TYPES(MESHMEM_CASE_##family, op) MESHMEM_OLDER_TYPES(MESHMEM_CASE_older, op) \
             default: meshmem_has_no_routine_for_this_type)
#define MESHMEM_SELECT_UNTIL(op, which) \
    _Generic((which), MESHMEM_TYPES(MESHMEM_CASE_amo, shmem_, op) MESHMEM_DEPRECATED_TYPES(MESHMEM_CASE_until, op) \
             default: meshmem_has_no_routine_for_this_type)

#define shmem_put(...) MESHMEM_SELECT_CTX(rma, put, __VA_ARGS__)(__VA_ARGS__)
#define shmem_get(...) MESHMEM_SELECT_CTX(rma, get, __VA_ARGS__)(__VA_ARGS__)
#define shmem_put_nbi(...) MESHMEM_SELECT_CTX(rma, put_nbi, __VA_ARGS__)(__VA_ARGS__)
#define shmem_get_nbi(...) MESHMEM_SELECT_CTX(rma, get_nbi, __VA_ARGS__)(__VA_ARGS__)
#define shmem_put_signal(...) MESHMEM_SELECT_CTX(rma, put_signal, __VA_ARGS__)(__VA_ARGS__)
#define shmem_put_signal_nbi(...) MESHMEM_SELECT_CTX(rma, put_signal_nbi, __VA_ARGS__)(__VA_ARGS__)
#define shmem_iput(...) MESHMEM_SELECT_CTX(rma, iput, __VA_ARGS__)(__VA_ARGS__)
#define shmem_iget(...) MESHMEM_SELECT_CTX(rma, iget, __VA_ARGS__)(__VA_ARGS__)
#define shmem_ibput(...) MESHMEM_SELECT_CTX(rma, ibput, __VA_ARGS__)(__VA_ARGS__)
#define shmem_ibget(...) MESHMEM_SELECT_CTX(rma, ibget, __VA_ARGS__)(__VA_ARGS__)
#define shmem_p(...) MESHMEM_SELECT_CTX(rma, p, __VA_ARGS__)(__VA_ARGS__)
#define shmem_g(...) MESHMEM_SELECT_CTX(rma, g, __VA_ARGS__)(__VA_ARGS__)

#define shmem_atomic_fetch(...) MESHMEM_SELECT_CTX(ext, atomic_fetch, __VA_ARGS__)(__VA_ARGS__)
#define shmem_atomic_set(...) MESHMEM_SELECT_CTX(ext, atomic_set, __VA_ARGS__)(__VA_ARGS__)
#define shmem_atomic_swap(...) MESHMEM_SELECT_CTX(ext, atomic_swap, __VA_ARGS__)(__VA_ARGS__)
#define shmem_atomic_fetch_nbi(...) MESHMEM_SELECT_CTX(ext, atomic_fetch_nbi, __VA_ARGS__)(__VA_ARGS__)
#define shmem_atomic_swap_nbi(...) MESHMEM_SELECT_CTX(ext, atomic_swap_nbi, __VA_ARGS__)(__VA_ARGS__)
#define shmem_atomic_compare_swap(...) MESHMEM_SELECT_CTX(amo, atomic_compare_swap, __VA_ARGS__)(__VA_ARGS__)
#define shmem_atomic_fetch_inc(...) MESHMEM_SELECT_CTX(amo, atomic_fetch_inc, __VA_ARGS__)(__VA_ARGS__)
#define shmem_atomic_inc(...) MESHMEM_SELECT_CTX(amo, atomic_inc, __VA_ARGS__)(__VA_ARGS__)
#define shmem_atomic_fetch_add(...) MESHMEM_SELECT_CTX(amo, atomic_fetch_add, __VA_ARGS__)(__VA_ARGS__)
#define shmem_atomic_add(...) MESHMEM_SELECT_CTX(amo, atomic_add, __VA_ARGS__)(__VA_ARGS__)
#define shmem_atomic_compare_swap_nbi(...) MESHMEM_SELECT_CTX(amo, atomic_compare_swap_nbi, __VA_ARGS__)(__VA_ARGS__)
#define shmem_atomic_fetch_inc_nbi(...) MESHMEM_SELECT_CTX(amo, atomic_fetch_inc_nbi, __VA_ARGS__)(__VA_ARGS__)
#define shmem_atomic_fetch_add_nbi(...) MESHMEM_SELECT_CTX(amo, atomic_fetch_add_nbi, __VA_ARGS__)(__VA_ARGS__)
#define shmem_atomic_fetch_and(...) MESHMEM_SELECT_CTX(bit, atomic_fetch_and, __VA_ARGS__)(__VA_ARGS__)
#define shmem_atomic_and(...) MESHMEM_SELECT_CTX(bit, atomic_and, __VA_ARGS__)(__VA_ARGS__)
#define shmem_atomic_fetch_or(...) MESHMEM_SELECT_CTX(bit, atomic_fetch_or, __VA_ARGS__)(__VA_ARGS__)
#define shmem_atomic_or(...) MESHMEM_SELECT_CTX(bit, atomic_or, __VA_ARGS__)(__VA_ARGS__)
#define shmem_atomic_fetch_xor(...) MESHMEM_SELECT_CTX(bit, atomic_fetch_xor, __VA_ARGS__)(__VA_ARGS__)
#define shmem_atomic_xor(...) MESHMEM_SELECT_CTX(bit, atomic_xor, __VA_ARGS__)(__VA_ARGS__)
#define shmem_atomic_fetch_and_nbi(...) MESHMEM_SELECT_CTX(bit, atomic_fetch_and_nbi, __VA_ARGS__)(__VA_ARGS__)
#define shmem_atomic_fetch_or_nbi(...) MESHMEM_SELECT_CTX(bit, atomic_fetch_or_nbi, __VA_ARGS__)(__VA_ARGS__)
#define shmem_atomic_fetch_xor_nbi(...) MESHMEM_SELECT_CTX(bit, atomic_fetch_xor_nbi, __VA_ARGS__)(__VA_ARGS__)

#define shmem_wait_until(...) MESHMEM_SELECT_UNTIL(wait_until, MESHMEM_FIRST(__VA_ARGS__))(__VA_ARGS__)
#define shmem_wait_until_all(...) MESHMEM_SELECT_UNTIL(wait_until_all, MESHMEM_FIRST(__VA_ARGS__))(__VA_ARGS__)
#define shmem_wait_until_any(...) MESHMEM_SELECT_UNTIL(wait_until_any, MESHMEM_FIRST(__VA_ARGS__))(__VA_ARGS__)
#define shmem_wait_until_some(...) MESHMEM_SELECT_UNTIL(wait_until_some, MESHMEM_FIRST(__VA_ARGS__))(__VA_ARGS__)
#define shmem_wait_until_all_vector(...) MESHMEM_SELECT_UNTIL(wait_until_all_vector, MESHMEM_FIRST(__VA_ARGS__))(__VA_ARGS__)
#define shmem_wait_until_any_vector(...) MESHMEM_SELECT_UNTIL(wait_until_any_vector, MESHMEM_FIRST(__VA_ARGS__))(__VA_ARGS__)
#define shmem_wait_until_some_vector(...) MESHMEM_SELECT_UNTIL(wait_until_some_vector, MESHMEM_FIRST(__VA_ARGS__))(__VA_ARGS__)
#define shmem_test(...) MESHMEM_SELECT_UNTIL(test, MESHMEM_FIRST(__VA_ARGS__))(__VA_ARGS__)
#define shmem_test_all(...) MESHMEM_SELECT_UNTIL(test_all, MESHMEM_FIRST(__VA_ARGS__))(__VA_ARGS__)
#define shmem_test_any(...) MESHMEM_SELECT_UNTIL(test_any, MESHMEM_FIRST(__VA_ARGS__))(__VA_ARGS__)
#define shmem_test_some(...) MESHMEM_SELECT_UNTIL(test_some, MESHMEM_FIRST(__VA_ARGS__))(__VA_ARGS__)
#define shmem_test_all_vector(...) MESHMEM_SELECT_UNTIL(test_all_vector, MESHMEM_FIRST(__VA_ARGS__))(__VA_ARGS__)
#define shmem_test_any_vector(...) MESHMEM_SELECT_UNTIL(test_any_vector, MESHMEM_FIRST(__VA_ARGS__))(__VA_ARGS__)
#define shmem_test_some_vector(...) MESHMEM_SELECT_UNTIL(test_some_vector, MESHMEM_FIRST(__VA_ARGS__))(__VA_ARGS__)

#define shmem_broadcast(...) MESHMEM_SELECT(rma, broadcast, MESHMEM_SECOND(__VA_ARGS__))(__VA_ARGS__)
#define shmem_collect(...) MESHMEM_SELECT(rma, collect, MESHMEM_SECOND(__VA_ARGS__))(__VA_ARGS__)
#define shmem_fcollect(...) MESHMEM_SELECT(rma, fcollect, MESHMEM_SECOND(__VA_ARGS__))(__VA_ARGS__)
#define shmem_alltoall(...) MESHMEM_SELECT(rma, alltoall, MESHMEM_SECOND(__VA_ARGS__))(__VA_ARGS__)
#define shmem_alltoalls(...) MESHMEM_SELECT(rma, alltoalls, MESHMEM_SECOND(__VA_ARGS__))(__VA_ARGS__)
#define shmem_and_reduce(...) MESHMEM_SELECT(logic, and_reduce, MESHMEM_SECOND(__VA_ARGS__))(__VA_ARGS__)
#define shmem_or_reduce(...) MESHMEM_SELECT(logic, or_reduce, MESHMEM_SECOND(__VA_ARGS__))(__VA_ARGS__)
#define shmem_xor_reduce(...) MESHMEM_SELECT(logic, xor_reduce, MESHMEM_SECOND(__VA_ARGS__))(__VA_ARGS__)
#define shmem_max_reduce(...) MESHMEM_SELECT(rma, max_reduce, MESHMEM_SECOND(__VA_ARGS__))(__VA_ARGS__)
#define shmem_min_reduce(...) MESHMEM_SELECT(rma, min_reduce, MESHMEM_SECOND(__VA_ARGS__))(__VA_ARGS__)
#define shmem_sum_reduce(...) MESHMEM_SELECT(arith, sum_reduce, MESHMEM_SECOND(__VA_ARGS__))(__VA_ARGS__)
#define shmem_prod_reduce(...) MESHMEM_SELECT(arith, prod_reduce, MESHMEM_SECOND(__VA_ARGS__))(__VA_ARGS__)
#define shmem_sum_inscan(...) MESHMEM_SELECT(arith, sum_inscan, MESHMEM_SECOND(__VA_ARGS__))(__VA_ARGS__)
#define shmem_sum_exscan(...) MESHMEM_SELECT(arith, sum_exscan, MESHMEM_SECOND(__VA_ARGS__))(__VA_ARGS__)

#define shmem_signal_add(...) \
    _Generic((MESHMEM_FIRST(__VA_ARGS__)), shmem_ctx_t: shmem_ctx_signal_add, default: shmem_signal_add)(__VA_ARGS__)
#define shmem_signal_set(...) \
    _Generic((MESHMEM_FIRST(__VA_ARGS__)), shmem_ctx_t: shmem_ctx_signal_set, default: shmem_signal_set)(__VA_ARGS__)
/* By the number of arguments: a team's, or the function for an active set, which has four. */
#define MESHMEM_FIFTH_OF(a, b, c, d, e, ...) e
#define shmem_sync(...) \
    MESHMEM_FIFTH_OF(__VA_ARGS__, shmem_sync, no_routine, no_routine, shmem_team_sync, )(__VA_ARGS__)

/* Deprecated. */
#define shmem_fetch(...) MESHMEM_SELECT_DEPRECATED(old, fetch, MESHMEM_FIRST(__VA_ARGS__))(__VA_ARGS__)
#define shmem_set(...) MESHMEM_SELECT_DEPRECATED(old, set, MESHMEM_FIRST(__VA_ARGS__))(__VA_ARGS__)
#define shmem_swap(...) MESHMEM_SELECT_DEPRECATED(old, swap, MESHMEM_FIRST(__VA_ARGS__))(__VA_ARGS__)
#define shmem_cswap(...) MESHMEM_SELECT_DEPRECATED(sum, cswap, MESHMEM_FIRST(__VA_ARGS__))(__VA_ARGS__)
#define shmem_finc(...) MESHMEM_SELECT_DEPRECATED(sum, finc, MESHMEM_FIRST(__VA_ARGS__))(__VA_ARGS__)
#define shmem_inc(...) MESHMEM_SELECT_DEPRECATED(sum, inc, MESHMEM_FIRST(__VA_ARGS__))(__VA_ARGS__)
#define shmem_fadd(...) MESHMEM_SELECT_DEPRECATED(sum, fadd, MESHMEM_FIRST(__VA_ARGS__))(__VA_ARGS__)
#define shmem_add(...) MESHMEM_SELECT_DEPRECATED(sum, add, MESHMEM_FIRST(__VA_ARGS__))(__VA_ARGS__)
/* For long a function has that name. */
#define shmem_wait(...) \
    _Generic((MESHMEM_FIRST(__VA_ARGS__)), long*: shmem_wait, \
             default: MESHMEM_SELECT_DEPRECATED(wait, wait, MESHMEM_FIRST(__VA_ARGS__)))(__VA_ARGS__)
/* clang-format on */

#endif
#endif
