// SPDX-License-Identifier: Apache-2.0
//
// The typed routines as plain structs of function pointers, one a family, read from shmem/types.h
// and shmem/ops.h. A test loops over every type of a family, as in for_each_rma([](auto row) {
// row.put(...); row.ctx_put(...); }). Invariant: no type and no routine is listed here; a row added
// to a table is tested without a change here. Used by all tests of tests/api that concern typed
// routines.
#ifndef MESHMEM_TESTS_API_TYPED_ROUTINES_HPP_
#define MESHMEM_TESTS_API_TYPED_ROUTINES_HPP_

#include <shmem.h>

namespace meshmem {

// A row of ops.h becomes members of a struct (FIELD), and their values (VALUE). Routines that exist
// with a context too (_CTX) give two of each.
#define MESHMEM_FIELD(name, op, Elem, result, params, args) result(*op) params;
#define MESHMEM_FIELD_CTX(name, op, Elem, result, params, args) \
  result(*op) params;                                           \
  result(*ctx_##op) MESHMEM_WITH_CTX params;
#define MESHMEM_VALUE(name, op, Elem, result, params, args) shmem_##name,
#define MESHMEM_VALUE_CTX(name, op, Elem, result, params, args) shmem_##name, shmem_ctx_##name,

// E: the type of an element. T: what the routines' pointers point to: E, or void in the sized and
// mem forms.
template <typename E, typename T = E>
struct Rma {
  using Element = E;
  const char* type;
  MESHMEM_OPS_RMA(MESHMEM_FIELD_CTX, , , E, T)
};

template <typename E, typename T = E>
struct Strided {
  using Element = E;
  const char* type;
  MESHMEM_OPS_STRIDED(MESHMEM_FIELD_CTX, , , E, T)
};

template <typename E, typename T = E>
struct Collective {
  using Element = E;
  const char* type;
  MESHMEM_OPS_COLLECTIVE(MESHMEM_FIELD, , , E, T)
};

// The families without sized and mem forms. Family: the struct's name. ROWS: its rows in ops.h.
#define MESHMEM_FAMILY(Family, ROWS, FIELD) \
  template <typename E>                     \
  struct Family {                           \
    using Element = E;                      \
    const char* type;                       \
    ROWS(FIELD, , E)                        \
  };
MESHMEM_FAMILY(Single, MESHMEM_OPS_SINGLE, MESHMEM_FIELD_CTX)
MESHMEM_FAMILY(AtomicExt, MESHMEM_OPS_ATOMIC_EXT, MESHMEM_FIELD_CTX)
MESHMEM_FAMILY(AtomicStd, MESHMEM_OPS_ATOMIC_STD, MESHMEM_FIELD_CTX)
MESHMEM_FAMILY(AtomicBit, MESHMEM_OPS_ATOMIC_BIT, MESHMEM_FIELD_CTX)
MESHMEM_FAMILY(Wait, MESHMEM_OPS_WAIT, MESHMEM_FIELD)
MESHMEM_FAMILY(ReduceOrder, MESHMEM_OPS_REDUCE_ORDER, MESHMEM_FIELD)
MESHMEM_FAMILY(ReduceArith, MESHMEM_OPS_REDUCE_ARITH, MESHMEM_FIELD)
MESHMEM_FAMILY(ReduceLogic, MESHMEM_OPS_REDUCE_LOGIC, MESHMEM_FIELD)
#undef MESHMEM_FAMILY

// for_each_...(visit) calls visit once for each type that has the family. It reads types.h with the
// macro MESHMEM_ROW_for_each_... below, which does nothing for types without a 1 or 2 in the
// column.
#define MESHMEM_LOOP(function)            \
  template <typename Visit>               \
  void function(const Visit& visit) {     \
    MESHMEM_TYPES(MESHMEM_ROW_##function) \
  }

// clang-format off
#define MESHMEM_ROW_for_each_typed_rma(NAME, T, rma, ext, amo, bit, arith, logic, ...) \
  MESHMEM_IN_##rma(visit(Rma<T>{#NAME, MESHMEM_OPS_RMA(MESHMEM_VALUE_CTX, NAME##_, , T, T)});)
#define MESHMEM_ROW_for_each_typed_strided(NAME, T, rma, ext, amo, bit, arith, logic, ...) \
  MESHMEM_IN_##rma(visit(Strided<T>{#NAME, MESHMEM_OPS_STRIDED(MESHMEM_VALUE_CTX, NAME##_, , T, T)});)
#define MESHMEM_ROW_for_each_typed_collective(NAME, T, rma, ext, amo, bit, arith, logic, ...) \
  MESHMEM_IN_##rma(visit(Collective<T>{#NAME, MESHMEM_OPS_COLLECTIVE(MESHMEM_VALUE, NAME##_, , T, T)});)
#define MESHMEM_ROW_for_each_single(NAME, T, rma, ext, amo, bit, arith, logic, ...) \
  MESHMEM_IN_##rma(visit(Single<T>{#NAME, MESHMEM_OPS_SINGLE(MESHMEM_VALUE_CTX, NAME##_, T)});)
#define MESHMEM_ROW_for_each_atomic_ext(NAME, T, rma, ext, amo, bit, arith, logic, ...) \
  MESHMEM_IN_##ext(visit(AtomicExt<T>{#NAME, MESHMEM_OPS_ATOMIC_EXT(MESHMEM_VALUE_CTX, NAME##_, T)});)
#define MESHMEM_ROW_for_each_atomic_std(NAME, T, rma, ext, amo, bit, arith, logic, ...) \
  MESHMEM_IN_##amo(visit(AtomicStd<T>{#NAME, MESHMEM_OPS_ATOMIC_STD(MESHMEM_VALUE_CTX, NAME##_, T)});)
#define MESHMEM_ROW_for_each_atomic_bit(NAME, T, rma, ext, amo, bit, arith, logic, ...) \
  MESHMEM_IN_##bit(visit(AtomicBit<T>{#NAME, MESHMEM_OPS_ATOMIC_BIT(MESHMEM_VALUE_CTX, NAME##_, T)});)
#define MESHMEM_ROW_for_each_wait(NAME, T, rma, ext, amo, bit, arith, logic, ...) \
  MESHMEM_IN_##amo(visit(Wait<T>{#NAME, MESHMEM_OPS_WAIT(MESHMEM_VALUE, NAME##_, T)});)
#define MESHMEM_ROW_for_each_reduce_order(NAME, T, rma, ext, amo, bit, arith, logic, ...) \
  MESHMEM_IN_##rma(visit(ReduceOrder<T>{#NAME, MESHMEM_OPS_REDUCE_ORDER(MESHMEM_VALUE, NAME##_, T)});)
#define MESHMEM_ROW_for_each_reduce_arith(NAME, T, rma, ext, amo, bit, arith, logic, ...) \
  MESHMEM_IN_##arith(visit(ReduceArith<T>{#NAME, MESHMEM_OPS_REDUCE_ARITH(MESHMEM_VALUE, NAME##_, T)});)
#define MESHMEM_ROW_for_each_reduce_logic(NAME, T, rma, ext, amo, bit, arith, logic, ...) \
  MESHMEM_IN_##logic(visit(ReduceLogic<T>{#NAME, MESHMEM_OPS_REDUCE_LOGIC(MESHMEM_VALUE, NAME##_, T)});)
// clang-format on

MESHMEM_LOOP(for_each_typed_rma)
MESHMEM_LOOP(for_each_typed_strided)
MESHMEM_LOOP(for_each_typed_collective)
MESHMEM_LOOP(for_each_single)
MESHMEM_LOOP(for_each_atomic_ext)
MESHMEM_LOOP(for_each_atomic_std)
MESHMEM_LOOP(for_each_atomic_bit)
MESHMEM_LOOP(for_each_wait)
MESHMEM_LOOP(for_each_reduce_order)
MESHMEM_LOOP(for_each_reduce_arith)
MESHMEM_LOOP(for_each_reduce_logic)
#undef MESHMEM_LOOP

// The sized forms, which count in elements of that width.
template <typename Visit>
void for_each_sized_rma(const Visit& visit) {
#define MESHMEM_ROW_SIZED(BITS, E, ...) \
  visit(Rma<E, void>{#BITS, MESHMEM_OPS_RMA(MESHMEM_VALUE_CTX, , BITS, E, void)});
  MESHMEM_SIZES(MESHMEM_ROW_SIZED)
#undef MESHMEM_ROW_SIZED
}

template <typename Visit>
void for_each_sized_strided(const Visit& visit) {
#define MESHMEM_ROW_SIZED(BITS, E, ...) \
  visit(Strided<E, void>{#BITS, MESHMEM_OPS_STRIDED(MESHMEM_VALUE_CTX, , BITS, E, void)});
  MESHMEM_SIZES(MESHMEM_ROW_SIZED)
#undef MESHMEM_ROW_SIZED
}

inline Rma<char, void> rma_mem() {
  return {"mem", MESHMEM_OPS_RMA(MESHMEM_VALUE_CTX, , mem, char, void)};
}

inline Collective<char, void> collective_mem() {
  return {"mem", MESHMEM_OPS_COLLECTIVE(MESHMEM_VALUE, , mem, char, void)};
}

#undef MESHMEM_FIELD
#undef MESHMEM_FIELD_CTX

// All forms of a family: typed, sized, mem.
template <typename Visit>
void for_each_rma(const Visit& visit) {
  for_each_typed_rma(visit);
  for_each_sized_rma(visit);
  visit(rma_mem());
}

template <typename Visit>
void for_each_strided(const Visit& visit) {
  for_each_typed_strided(visit);
  for_each_sized_strided(visit);
}

template <typename Visit>
void for_each_collective(const Visit& visit) {
  for_each_typed_collective(visit);
  visit(collective_mem());
}

}  // namespace meshmem

#endif  // MESHMEM_TESTS_API_TYPED_ROUTINES_HPP_
