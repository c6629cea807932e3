// SPDX-License-Identifier: Apache-2.0
//
// Atomic memory operations, by type (OpenSHMEM 1.6, section 9.7). On host memory that is mapped
// here they are the processor's own; else one_sided.hpp executes them.
// Invariant: each is one atomic access of its type's width. Integers wrap, so signed types are
// computed as unsigned ones. `Where` knows the routine's name, and the world PE for a PE number.
// Called by api/atomics.cpp. The functions are static so that they are inlined there.
#ifndef MESHMEM_ONE_SIDED_ATOMIC_ACCESS_HPP_
#define MESHMEM_ONE_SIDED_ATOMIC_ACCESS_HPP_

#include <bit>
#include <cstdint>
#include <type_traits>

#include "base/waiting/wait.hpp"
#include "memory/address_map.hpp"
#include "memory/argument_checks.hpp"
#include "one_sided/one_sided.hpp"

namespace meshmem {

template <typename E>
using Word = std::conditional_t<sizeof(E) == 4, std::uint32_t, std::uint64_t>;

template <typename E>
static Word<E> to_word(E value) {
  static_assert(sizeof(E) == 4 || sizeof(E) == 8);
  return std::bit_cast<Word<E>>(value);
}
template <typename E>
static E from_word(Word<E> word) {
  return std::bit_cast<E>(word);
}

// Executes one atomic on PE `pe`: by host(word) if the word is mapped here, else by one_sided.
template <typename E, typename Where, typename Host>
[[gnu::always_inline]] static inline Word<E> apply(Where where, const E* address, int pe,
                                                   const Host& host, device::AtomicOp op,
                                                   Word<E> operand = 0, Word<E> condition = 0,
                                                   bool fetches = true) {
  const int at = where.world_pe(pe);
  check_pe(direct_map, at, where.routine);
  check_alignment(where.routine, address, sizeof(E));
  std::byte* there = find_copy(direct_map, address, sizeof(E), at);
  if (!is_mapped(there)) [[unlikely]]
    there = find_in_block(where.routine, address, sizeof(E), at);
  if (!is_mapped(there)) [[unlikely]] {
    return static_cast<Word<E>>(one_sided::atomic(
        where.routine, address, {op, sizeof(E), operand, condition, fetches}, at));
  }
  return host(reinterpret_cast<Word<E>*>(there));
}

// Atomics acquire and release, since programs build locks and queues of them; on x86-64 this costs
// nothing.
// Programs also wait by fetches in a loop, mostly of a word of their own PE. note_fetch() counts
// them, so that a loop yields the core. It costs a nanosecond, so fetches from other PEs call it
// only if PEs share cores. Atomics that change the word are not used for waiting.
template <typename E, typename Where>
static E atomic_fetch(Where where, const E* source, int pe) {
  const auto look = [source](auto* word) {
    const auto value = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    const bool is_own = static_cast<const void*>(word) == source;
    if (is_own || wait_policy.polls <= 1) note_fetch(word, value);
    return value;
  };
  return from_word<E>(apply(where, source, pe, look, device::AtomicOp::fetch));
}
template <typename E, typename Where>
static void atomic_set(Where where, E* dest, E value, int pe) {
  const auto set = [value](auto* word) {
    __atomic_store_n(word, to_word(value), __ATOMIC_RELEASE);
    return Word<E>{0};
  };
  apply(where, dest, pe, set, device::AtomicOp::set, to_word(value), 0, false);
}
template <typename E, typename Where>
static E atomic_compare_swap(Where where, E* dest, E cond, E value, int pe) {
  const auto swap = [cond, value](auto* word) {
    Word<E> seen = to_word(cond);
    __atomic_compare_exchange_n(word, &seen, to_word(value), false, __ATOMIC_ACQ_REL,
                                __ATOMIC_ACQUIRE);
    return seen;
  };
  return from_word<E>(
      apply(where, dest, pe, swap, device::AtomicOp::compare_swap, to_word(value), to_word(cond)));
}

// The other operations: FETCHING returns the value before, PLAIN returns nothing. `builtin`
// executes the operation on this processor, and device::AtomicOp::kernel_op names it for one_sided.
#define FETCHING(name, builtin, kernel_op)                                            \
  template <typename E, typename Where>                                               \
  static E name(Where where, E* dest, E value, int pe) {                              \
    const auto change = [value](auto* word) {                                         \
      return builtin(word, to_word(value), __ATOMIC_ACQ_REL);                         \
    };                                                                                \
    return from_word<E>(                                                              \
        apply(where, dest, pe, change, device::AtomicOp::kernel_op, to_word(value))); \
  }
#define PLAIN(name, builtin, kernel_op)                                                    \
  template <typename E, typename Where>                                                    \
  static void name(Where where, E* dest, E value, int pe) {                                \
    const auto change = [value](auto* word) {                                              \
      builtin(word, to_word(value), __ATOMIC_ACQ_REL);                                     \
      return Word<E>{0};                                                                   \
    };                                                                                     \
    apply(where, dest, pe, change, device::AtomicOp::kernel_op, to_word(value), 0, false); \
  }
FETCHING(atomic_swap, __atomic_exchange_n, swap)
FETCHING(atomic_fetch_add, __atomic_fetch_add, add)
FETCHING(atomic_fetch_and, __atomic_fetch_and, bit_and)
FETCHING(atomic_fetch_or, __atomic_fetch_or, bit_or)
FETCHING(atomic_fetch_xor, __atomic_fetch_xor, bit_xor)
PLAIN(atomic_add, __atomic_fetch_add, add)
PLAIN(atomic_and, __atomic_fetch_and, bit_and)
PLAIN(atomic_or, __atomic_fetch_or, bit_or)
PLAIN(atomic_xor, __atomic_fetch_xor, bit_xor)
#undef FETCHING
#undef PLAIN

template <typename E, typename Where>
static E atomic_fetch_inc(Where where, E* dest, int pe) {
  return atomic_fetch_add(where, dest, E{1}, pe);
}
template <typename E, typename Where>
static void atomic_inc(Where where, E* dest, int pe) {
  atomic_add(where, dest, E{1}, pe);
}

// The nonblocking forms store the value at `fetch`, and are complete when they return.
template <typename E>
static void deliver(const char* routine, E* fetch, E value) {
  if (may_be_on_device(fetch)) [[unlikely]]
    return copy_local(routine, fetch, &value, sizeof value);
  *fetch = value;
}
#define NONBLOCKING(op)                                       \
  template <typename E, typename Where, typename... Rest>     \
  static void op##_nbi(Where where, E* fetch, Rest... rest) { \
    deliver(where.routine, fetch, op<E>(where, rest...));     \
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

}  // namespace meshmem

#endif  // MESHMEM_ONE_SIDED_ATOMIC_ACCESS_HPP_
