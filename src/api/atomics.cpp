// SPDX-License-Identifier: Apache-2.0
//
// Atomic memory operations (OpenSHMEM 1.6, section 9.7): the processor's own, on the peer's mapped
// memory.
// Invariant: each is one atomic access of the width of its type. Integers wrap, so signed types are
// computed as unsigned ones.
#include <bit>
#include <cstdint>
#include <type_traits>

#include "api/entry.hpp"
#include "api/transfer.hpp"

namespace meshmem {
namespace {

template <typename E>
using Word = std::conditional_t<sizeof(E) == 4, std::uint32_t, std::uint64_t>;

template <typename E>
Word<E> to_word(E value) {
  static_assert(sizeof(E) == 4 || sizeof(E) == 8);
  return std::bit_cast<Word<E>>(value);
}
template <typename E>
E from_word(Word<E> word) {
  return std::bit_cast<E>(word);
}

template <typename E, typename Where>
Word<E>* target(Where where, const E* address, int pe) {
  return reinterpret_cast<Word<E>*>(
      translate(address_map, address, sizeof(E), where.world_pe(pe), where.routine));
}

// Acquire and release: programs build locks and queues of these; on x86-64 it costs nothing.
template <typename E, typename Where>
E atomic_fetch(Where where, const E* source, int pe) {
  return from_word<E>(__atomic_load_n(target(where, source, pe), __ATOMIC_ACQUIRE));
}
template <typename E, typename Where>
void atomic_set(Where where, E* dest, E value, int pe) {
  __atomic_store_n(target(where, dest, pe), to_word(value), __ATOMIC_RELEASE);
}
template <typename E, typename Where>
E atomic_swap(Where where, E* dest, E value, int pe) {
  return from_word<E>(
      __atomic_exchange_n(target(where, dest, pe), to_word(value), __ATOMIC_ACQ_REL));
}
template <typename E, typename Where>
E atomic_compare_swap(Where where, E* dest, E cond, E value, int pe) {
  Word<E> seen = to_word(cond);
  __atomic_compare_exchange_n(target(where, dest, pe), &seen, to_word(value), false,
                              __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return from_word<E>(seen);
}
template <typename E, typename Where>
E atomic_fetch_add(Where where, E* dest, E value, int pe) {
  return from_word<E>(
      __atomic_fetch_add(target(where, dest, pe), to_word(value), __ATOMIC_ACQ_REL));
}
template <typename E, typename Where>
E atomic_fetch_and(Where where, E* dest, E value, int pe) {
  return from_word<E>(
      __atomic_fetch_and(target(where, dest, pe), to_word(value), __ATOMIC_ACQ_REL));
}
template <typename E, typename Where>
E atomic_fetch_or(Where where, E* dest, E value, int pe) {
  return from_word<E>(__atomic_fetch_or(target(where, dest, pe), to_word(value), __ATOMIC_ACQ_REL));
}
template <typename E, typename Where>
E atomic_fetch_xor(Where where, E* dest, E value, int pe) {
  return from_word<E>(
      __atomic_fetch_xor(target(where, dest, pe), to_word(value), __ATOMIC_ACQ_REL));
}

template <typename E, typename Where>
E atomic_fetch_inc(Where where, E* dest, int pe) {
  return atomic_fetch_add(where, dest, E{1}, pe);
}

// The forms that fetch nothing.
template <typename E, typename Where>
void atomic_add(Where where, E* dest, E value, int pe) {
  __atomic_fetch_add(target(where, dest, pe), to_word(value), __ATOMIC_ACQ_REL);
}
template <typename E, typename Where>
void atomic_inc(Where where, E* dest, int pe) {
  atomic_add(where, dest, E{1}, pe);
}
template <typename E, typename Where>
void atomic_and(Where where, E* dest, E value, int pe) {
  __atomic_fetch_and(target(where, dest, pe), to_word(value), __ATOMIC_ACQ_REL);
}
template <typename E, typename Where>
void atomic_or(Where where, E* dest, E value, int pe) {
  __atomic_fetch_or(target(where, dest, pe), to_word(value), __ATOMIC_ACQ_REL);
}
template <typename E, typename Where>
void atomic_xor(Where where, E* dest, E value, int pe) {
  __atomic_fetch_xor(target(where, dest, pe), to_word(value), __ATOMIC_ACQ_REL);
}

// The nonblocking forms fetch into memory, and are complete when they return.
#define NONBLOCKING(op)                                   \
  template <typename E, typename Where, typename... Rest> \
  void op##_nbi(Where where, E* fetch, Rest... rest) {    \
    *fetch = op<E>(where, rest...);                       \
  }
NONBLOCKING(atomic_fetch)
NONBLOCKING(atomic_swap)
NONBLOCKING(atomic_compare_swap)
NONBLOCKING(atomic_fetch_inc)
NONBLOCKING(atomic_fetch_add)
NONBLOCKING(atomic_fetch_and)
NONBLOCKING(atomic_fetch_or)
NONBLOCKING(atomic_fetch_xor)
#undef NONBLOCKING

}  // namespace

#define ATOMIC(name, op, E, result, params, args)                                                  \
  MESHMEM_ENTRY(result, name, params) { return op<E>(Call{"shmem_" #name}, MESHMEM_UNWRAP args); } \
  MESHMEM_ENTRY(result, ctx_##name, MESHMEM_WITH_CTX params) {                                     \
    return op<E>(CallInContext{"shmem_ctx_" #name, ctx}, MESHMEM_UNWRAP args);                     \
  }
#define ATOMICS_OF_TYPE(NAME, TYPE, rma, ext, amo, bit, arith, logic, unused) \
  MESHMEM_IN_##ext(MESHMEM_OPS_ATOMIC_EXT(ATOMIC, NAME##_, TYPE))             \
      MESHMEM_IN_##amo(MESHMEM_OPS_ATOMIC_STD(ATOMIC, NAME##_, TYPE))         \
          MESHMEM_IN_##bit(MESHMEM_OPS_ATOMIC_BIT(ATOMIC, NAME##_, TYPE))
MESHMEM_TYPES(ATOMICS_OF_TYPE, )
#undef ATOMIC
#undef ATOMICS_OF_TYPE

}  // namespace meshmem
