// SPDX-License-Identifier: Apache-2.0
//
// The deprecated routines as structs of function pointers, one a family, read from
// shmem/deprecated.h, as typed_routines.hpp has the others: for_each_set_arith([](auto row) {
// row.sum_to_all(...); }). Invariant: no type and no routine is listed here.
#ifndef MESHMEM_TESTS_API_DEPRECATED_ROUTINES_HPP
#define MESHMEM_TESTS_API_DEPRECATED_ROUTINES_HPP

#include <shmem.h>

namespace meshmem {

#define MESHMEM_FIELD(name, op, Elem, result, params, args) result(*op) params;
#define MESHMEM_VALUE(name, op, Elem, result, params, args) shmem_##name,

// A family's struct, and one call of visit for each type that has it.
#define MESHMEM_FAMILY(Family, ROWS, function)     \
  template <typename E>                            \
  struct Family {                                  \
    using Element = E;                             \
    const char* type;                              \
    ROWS(MESHMEM_FIELD, , E)                       \
  };                                               \
  template <typename Visit>                        \
  void function(const Visit& visit) {              \
    MESHMEM_DEPRECATED_TYPES(MESHMEM_ROW_##Family) \
  }

// clang-format off
#define MESHMEM_ROW_OldAtomic(NAME, T, old, sum, wait, until, logic, order, arith, ...) \
  MESHMEM_IN_##old(visit(OldAtomic<T>{#NAME, MESHMEM_OPS_DEPRECATED_OLD(MESHMEM_VALUE, NAME##_, T)});)
#define MESHMEM_ROW_OldSum(NAME, T, old, sum, wait, until, logic, order, arith, ...) \
  MESHMEM_IN_##sum(visit(OldSum<T>{#NAME, MESHMEM_OPS_DEPRECATED_SUM(MESHMEM_VALUE, NAME##_, T)});)
#define MESHMEM_ROW_OldWait(NAME, T, old, sum, wait, until, logic, order, arith, ...) \
  MESHMEM_IN_##wait(visit(OldWait<T>{#NAME, MESHMEM_OPS_DEPRECATED_WAIT(MESHMEM_VALUE, NAME##_, T)});)
#define MESHMEM_ROW_OldUntil(NAME, T, old, sum, wait, until, logic, order, arith, ...) \
  MESHMEM_IN_##until(visit(OldUntil<T>{#NAME, MESHMEM_OPS_DEPRECATED_UNTIL(MESHMEM_VALUE, NAME##_, T)});)
#define MESHMEM_ROW_SetLogic(NAME, T, old, sum, wait, until, logic, order, arith, ...) \
  MESHMEM_IN_##logic(visit(SetLogic<T>{#NAME, MESHMEM_OPS_DEPRECATED_LOGIC(MESHMEM_VALUE, NAME##_, T)});)
#define MESHMEM_ROW_SetOrder(NAME, T, old, sum, wait, until, logic, order, arith, ...) \
  MESHMEM_IN_##order(visit(SetOrder<T>{#NAME, MESHMEM_OPS_DEPRECATED_ORDER(MESHMEM_VALUE, NAME##_, T)});)
#define MESHMEM_ROW_SetArith(NAME, T, old, sum, wait, until, logic, order, arith, ...) \
  MESHMEM_IN_##arith(visit(SetArith<T>{#NAME, MESHMEM_OPS_DEPRECATED_ARITH(MESHMEM_VALUE, NAME##_, T)});)
// clang-format on

MESHMEM_FAMILY(OldAtomic, MESHMEM_OPS_DEPRECATED_OLD, for_each_old_atomic)
MESHMEM_FAMILY(OldSum, MESHMEM_OPS_DEPRECATED_SUM, for_each_old_sum)
MESHMEM_FAMILY(OldWait, MESHMEM_OPS_DEPRECATED_WAIT, for_each_old_wait)
MESHMEM_FAMILY(OldUntil, MESHMEM_OPS_DEPRECATED_UNTIL, for_each_old_until)
MESHMEM_FAMILY(SetLogic, MESHMEM_OPS_DEPRECATED_LOGIC, for_each_set_logic)
MESHMEM_FAMILY(SetOrder, MESHMEM_OPS_DEPRECATED_ORDER, for_each_set_order)
MESHMEM_FAMILY(SetArith, MESHMEM_OPS_DEPRECATED_ARITH, for_each_set_arith)
#undef MESHMEM_FAMILY

// The collectives that move data, in elements of 32 and of 64 bits.
template <typename E>
struct SetCollective {
  using Element = E;
  const char* type;
  MESHMEM_OPS_DEPRECATED_COLLECTIVE(MESHMEM_FIELD, , E)
};
template <typename Visit>
void for_each_set_collective(const Visit& visit) {
  visit(SetCollective<uint32_t>{"32",
                                MESHMEM_OPS_DEPRECATED_COLLECTIVE(MESHMEM_VALUE, 32, uint32_t)});
  visit(SetCollective<uint64_t>{"64",
                                MESHMEM_OPS_DEPRECATED_COLLECTIVE(MESHMEM_VALUE, 64, uint64_t)});
}
#undef MESHMEM_FIELD
#undef MESHMEM_VALUE

}  // namespace meshmem

#endif
