// SPDX-License-Identifier: Apache-2.0
// Atomic operations on global memory, on the flat address space and on LDS. CDNA2 ISA, "Flat
// memory instructions" and "Data share".
// Invariant: an atomic is one operation of the host on the memory, so that host code and kernels,
// and processes, can meet in a word.
#include <string>

#include "memory.hpp"

namespace amd_gpu {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

template <typename T>
T words_of(const Wave& w, unsigned first, unsigned lane) {
  if constexpr (sizeof(T) == 4) {
    return std::bit_cast<T>(w.vector[first][lane]);
  } else {
    return std::bit_cast<T>(u64{w.vector[first + 1][lane]} << 32 | w.vector[first][lane]);
  }
}
template <typename T>
void set_words(Wave& w, unsigned first, unsigned lane, T value) {
  if constexpr (sizeof(T) == 4) {
    w.vector[first][lane] = std::bit_cast<u32>(value);
  } else {
    const u64 bits = std::bit_cast<u64>(value);
    w.vector[first][lane] = static_cast<u32>(bits);
    w.vector[first + 1][lane] = static_cast<u32>(bits >> 32);
  }
}

template <typename T>
using Change = T (*)(T before, T operand);

// Each of the following replaces the old value by next(old), as one operation, and returns the old
// value.
template <typename T, typename Next>
T replace(std::uint8_t* at, Next next) {
  using Bits = std::conditional_t<sizeof(T) == 4, u32, u64>;
  auto* const word = reinterpret_cast<Bits*>(at);
  Bits old = __atomic_load_n(word, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(word, &old, std::bit_cast<Bits>(next(std::bit_cast<T>(old))),
                                      false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
  }
  return std::bit_cast<T>(old);
}
template <typename T>
void check_alignment(const Wave& w, u64 address) {
  if (address % sizeof(T) != 0) fail(w, "an atomic operation on an address that is not aligned");
}
template <typename T, typename Next>
T replace_at(const Wave& w, const Instruction& i, u64 address, unsigned lane, Next next) {
  using Bits = std::conditional_t<sizeof(T) == 4, u32, u64>;
  check_alignment<T>(w, address);
  WeakMemory* const weak = is_global(address) ? w.block->weak : nullptr;
  L2* const l2 = weak == nullptr ? nullptr : weak->before_atomic(address, sizeof(T), i.scope);
  if (l2 == nullptr) return replace<T>(flat_at(w, address, lane, sizeof(T)), next);
  return std::bit_cast<T>(static_cast<Bits>(
      l2->replace(address, sizeof(T), weak->caching_of(address), [&](u64 before) -> u64 {
        return std::bit_cast<Bits>(next(std::bit_cast<T>(static_cast<Bits>(before))));
      })));
}
template <typename T, typename Next>
T replace_local(const Wave& w, u32 offset, Next next) {
  check_alignment<T>(w, offset);
  return replace<T>(local_at(w, offset, sizeof(T)), next);
}

template <typename T>
auto swap_if(T expected, T desired) {
  return [=](T before) { return before == expected ? desired : before; };
}

// Where the operands are: with glc the value before is returned, in operand 0.
struct Places {
  Places(const Instruction& i, bool is_flat)
      : address(i.glc), data(i.glc + 1u), base(is_flat ? nullptr : &i.operand[i.glc + 2u]) {}
  unsigned address, data;
  const Operand* base;
};

template <typename T>
void change_memory(Wave& w, const Instruction& i, bool is_flat, Change<T> function) {
  const Places places(i, is_flat);
  const Addresses addresses(w, i, places.address, places.base);
  const unsigned data = i.operand[places.data].first;
  for_each_lane(w.exec(), [&](unsigned lane) {
    const T operand = words_of<T>(w, data, lane);
    const T before = replace_at<T>(w, i, addresses.of(lane), lane,
                                   [&](T value) { return function(value, operand); });
    if (i.glc) set_words(w, i.operand[0].first, lane, before);
  });
}
// In the data registers the new value comes before the expected one.
template <typename T, bool kIsFlat>
void memory_compare_and_swap(Wave& w, const Instruction& i) {
  const Places places(i, kIsFlat);
  const Addresses addresses(w, i, places.address, places.base);
  const unsigned data = i.operand[places.data].first;
  for_each_lane(w.exec(), [&](unsigned lane) {
    const T before = replace_at<T>(
        w, i, addresses.of(lane), lane,
        swap_if(words_of<T>(w, data + sizeof(T) / 4, lane), words_of<T>(w, data, lane)));
    if (i.glc) set_words(w, i.operand[0].first, lane, before);
  });
}

template <typename T>
void change_local(Wave& w, const Instruction& i, bool returns, Change<T> function) {
  const Lanes& address = w.vector[i.operand[returns].first];
  const unsigned data = i.operand[returns + 1u].first;
  for_each_lane(w.exec(), [&](unsigned lane) {
    const T operand = words_of<T>(w, data, lane);
    const T before = replace_local<T>(w, address[lane] + static_cast<u32>(i.offset),
                                      [&](T value) { return function(value, operand); });
    if (returns) set_words(w, i.operand[0].first, lane, before);
  });
}

template <typename T, auto kFunction, bool kIsFlat>
void memory_atomic(Wave& w, const Instruction& i) {
  change_memory<T>(w, i, kIsFlat, kFunction);
}
template <typename T, auto kFunction, bool kReturns>
void local_atomic(Wave& w, const Instruction& i) {
  change_local<T>(w, i, kReturns, kFunction);
}
template <typename T, bool kReturns>
void local_compare_and_swap(Wave& w, const Instruction& i) {
  const Lanes& address = w.vector[i.operand[kReturns].first];
  const unsigned expected = i.operand[kReturns + 1u].first;
  const unsigned desired = i.operand[kReturns + 2u].first;
  for_each_lane(w.exec(), [&](unsigned lane) {
    const T before =
        replace_local<T>(w, address[lane] + static_cast<u32>(i.offset),
                         swap_if(words_of<T>(w, expected, lane), words_of<T>(w, desired, lane)));
    if (kReturns) set_words(w, i.operand[0].first, lane, before);
  });
}

}  // namespace

void add_atomic_instructions(InstructionTable& t) {
#define FUNCTION(T, expression) [](T a, T b) -> T { return (expression); }
#define MEMORY(name, T, expression)                                            \
  t["global_atomic_" name] = memory_atomic<T, FUNCTION(T, expression), false>; \
  t["flat_atomic_" name] = memory_atomic<T, FUNCTION(T, expression), true>
#define LOCAL(name, T, ending, expression)                                    \
  t["ds_" name "_" ending] = local_atomic<T, FUNCTION(T, expression), false>; \
  t["ds_" name "_rtn_" ending] = local_atomic<T, FUNCTION(T, expression), true>
  // Name in memory, name in LDS, its type there, unsigned or signed, what happens.
#define ROW(name, local, kind, T32, T64, expression) \
  MEMORY(name, T32, expression);                     \
  MEMORY(name "_x2", T64, expression);               \
  LOCAL(local, T32, kind "32", expression);          \
  LOCAL(local, T64, kind "64", expression)
  ROW("add", "add", "u", u32, u64, a + b);
  ROW("sub", "sub", "u", u32, u64, a - b);
  ROW("umin", "min", "u", u32, u64, a < b ? a : b);
  ROW("umax", "max", "u", u32, u64, a > b ? a : b);
  ROW("smin", "min", "i", i32, i64, a < b ? a : b);
  ROW("smax", "max", "i", i32, i64, a > b ? a : b);
  ROW("and", "and", "b", u32, u64, a & b);
  ROW("or", "or", "b", u32, u64, a | b);
  ROW("xor", "xor", "b", u32, u64, a ^ b);
  ROW("inc", "inc", "u", u32, u64, a >= b ? 0 : a + 1);
  ROW("dec", "dec", "u", u32, u64, a == 0 || a > b ? b : a - 1);
  ROW("swap", "wrxchg", "b", u32, u64, (static_cast<void>(a), b));
#undef ROW
  MEMORY("add_f32", float, a + b);
  MEMORY("add_f64", double, a + b);
  MEMORY("min_f64", double, a < b ? a : b);
  MEMORY("max_f64", double, a > b ? a : b);
  LOCAL("add", float, "f32", a + b);
  LOCAL("add", double, "f64", a + b);
  t["global_atomic_cmpswap"] = memory_compare_and_swap<u32, false>;
  t["global_atomic_cmpswap_x2"] = memory_compare_and_swap<u64, false>;
  t["flat_atomic_cmpswap"] = memory_compare_and_swap<u32, true>;
  t["flat_atomic_cmpswap_x2"] = memory_compare_and_swap<u64, true>;
  t["ds_cmpst_b32"] = local_compare_and_swap<u32, false>;
  t["ds_cmpst_rtn_b32"] = local_compare_and_swap<u32, true>;
  t["ds_cmpst_b64"] = local_compare_and_swap<u64, false>;
  t["ds_cmpst_rtn_b64"] = local_compare_and_swap<u64, true>;
}

}  // namespace amd_gpu
