// SPDX-License-Identifier: Apache-2.0
//
// Atomic memory operations in kernels (OpenSHMEM 1.6, section 9.7), on the bits of 4- and 8-byte
// types.
// Invariant: system scope, relaxed. Only add, swap and compare-and-swap cross every link, so and,
// or and xor are loops of compare-and-swap. Integers wrap.
#ifndef MESHMEM_DEVICE_ATOMICS_HPP_
#define MESHMEM_DEVICE_ATOMICS_HPP_

#include "device/operations.hpp"
#include "device/proxy.hpp"
#include "device/teams.hpp"

namespace meshmem {
namespace device {

template <typename B>
MESHMEM_DEVICE B combine_bits(AtomicOp op, B old, B operand) {
  switch (op) {
    case AtomicOp::bit_and:
      return old & operand;
    case AtomicOp::bit_or:
      return old | operand;
    case AtomicOp::bit_xor:
      return old ^ operand;
    default:
      return old;
  }
}

// *there = op(*there, operand); compare_swap only if *there equals `condition`. Returns the old
// value, but a set returns the operand.
template <typename B>
MESHMEM_DEVICE B apply_atomic(AtomicOp op, B* there, B operand, B condition = 0) {
  switch (op) {
    case AtomicOp::fetch:
      return load_relaxed(there);
    case AtomicOp::set:
      store_relaxed(there, operand);
      return operand;
    case AtomicOp::swap:
      return exchange(there, operand);
    case AtomicOp::compare_swap:
      return compare_exchange(there, condition, operand);
    case AtomicOp::add:
      return fetch_add(there, operand);
    default:
      break;
  }
  B old = load_relaxed(there);
  for (;;) {
    const B found = compare_exchange(there, old, combine_bits(op, old, operand));
    if (found == old) return old;
    old = found;
  }
}

// Whether the caller wants the old value. Only then an atomic on a far PE waits for an answer.
enum class Answer { none, value };

template <AtomicOp op, Answer answer, typename B>
MESHMEM_DEVICE_APART B atomic_rare(const B* address, int world_pe, B operand, B condition) {
  auto* const there = reinterpret_cast<B*>(find_rare(address, world_pe));
  if (there) return apply_atomic(op, there, operand, condition);
  return static_cast<B>(
      far_atomic(op, address, sizeof(B), operand, condition, answer == Answer::value, world_pe));
}
template <AtomicOp op, Answer answer = Answer::value, typename E, typename Pes>
MESHMEM_DEVICE E atomic(Pes pes, const E* address, int pe, E operand = E(), E condition = E()) {
  using B = Bits<sizeof(E)>;
  const int world_pe = pes.world_pe(pe);
  const auto operand_bits = bit_cast<B>(operand), condition_bits = bit_cast<B>(condition);
  const auto* const word = reinterpret_cast<const B*>(address);
  check_aligned(address, sizeof(E));
  B* there = nullptr;
  if (!find_near(&there, word, world_pe))
    return bit_cast<E>(atomic_rare<op, answer>(word, world_pe, operand_bits, condition_bits));
  return bit_cast<E>(apply_atomic(op, there, operand_bits, condition_bits));
}

// The routines of shmem/ops.h. nbi forms, too, have the fetched value when they return.
template <typename E, typename Pes>
MESHMEM_DEVICE E atomic_fetch(Pes pes, const E* source, int pe) {
  return atomic<AtomicOp::fetch>(pes, source, pe);
}
template <typename E, typename Pes>
MESHMEM_DEVICE void atomic_set(Pes pes, E* dest, E value, int pe) {
  atomic<AtomicOp::set, Answer::none>(pes, dest, pe, value);
}
template <typename E, typename Pes>
MESHMEM_DEVICE E atomic_swap(Pes pes, E* dest, E value, int pe) {
  return atomic<AtomicOp::swap>(pes, dest, pe, value);
}
template <typename E, typename Pes>
MESHMEM_DEVICE void atomic_fetch_nbi(Pes pes, E* fetch, const E* source, int pe) {
  *fetch = atomic_fetch(pes, source, pe);
}
template <typename E, typename Pes>
MESHMEM_DEVICE void atomic_swap_nbi(Pes pes, E* fetch, E* dest, E value, int pe) {
  *fetch = atomic_swap(pes, dest, value, pe);
}
template <typename E, typename Pes>
MESHMEM_DEVICE E atomic_compare_swap(Pes pes, E* dest, E cond, E value, int pe) {
  return atomic<AtomicOp::compare_swap>(pes, dest, pe, value, cond);
}
template <typename E, typename Pes>
MESHMEM_DEVICE void atomic_compare_swap_nbi(Pes pes, E* fetch, E* dest, E cond, E value, int pe) {
  *fetch = atomic_compare_swap(pes, dest, cond, value, pe);
}

#define MESHMEM_ATOMIC(name, op)                                                               \
  template <typename E, typename Pes>                                                          \
  MESHMEM_DEVICE E atomic_fetch_##name(Pes pes, E* dest, E value, int pe) {                    \
    return atomic<AtomicOp::op>(pes, dest, pe, value);                                         \
  }                                                                                            \
  template <typename E, typename Pes>                                                          \
  MESHMEM_DEVICE void atomic_##name(Pes pes, E* dest, E value, int pe) {                       \
    atomic<AtomicOp::op, Answer::none>(pes, dest, pe, value);                                  \
  }                                                                                            \
  template <typename E, typename Pes>                                                          \
  MESHMEM_DEVICE void atomic_fetch_##name##_nbi(Pes pes, E* fetch, E* dest, E value, int pe) { \
    *fetch = atomic_fetch_##name(pes, dest, value, pe);                                        \
  }
MESHMEM_ATOMIC(add, add)
MESHMEM_ATOMIC(and, bit_and)
MESHMEM_ATOMIC(or, bit_or)
MESHMEM_ATOMIC(xor, bit_xor)
#undef MESHMEM_ATOMIC

template <typename E, typename Pes>
MESHMEM_DEVICE E atomic_fetch_inc(Pes pes, E* dest, int pe) {
  return atomic_fetch_add(pes, dest, E(1), pe);
}
template <typename E, typename Pes>
MESHMEM_DEVICE void atomic_inc(Pes pes, E* dest, int pe) {
  atomic_add(pes, dest, E(1), pe);
}
template <typename E, typename Pes>
MESHMEM_DEVICE void atomic_fetch_inc_nbi(Pes pes, E* fetch, E* dest, int pe) {
  *fetch = atomic_fetch_inc(pes, dest, pe);
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_ATOMICS_HPP_
