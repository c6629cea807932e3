// SPDX-License-Identifier: Apache-2.0
//
// The one-sided routines that random_one_sided_test.cpp draws from, without their types. They are
// sized and mem forms of puts and gets, single elements of every type, and atomics of every type,
// each with a serial model.
// Invariant: the values that an atomic fetches and leaves are compared and kept as bits.
#ifndef MESHMEM_TESTS_API_ONE_SIDED_ROUTINES_HPP
#define MESHMEM_TESTS_API_ONE_SIDED_ROUTINES_HPP

#include <cstring>
#include <functional>
#include <vector>

#include "symmetric_array.hpp"
#include "typed_routines.hpp"

namespace meshmem {

// The sized and mem forms have the same parameters, whatever their elements are.
struct Move {
  size_t elem_bytes;
  decltype(Rma<char, void>::ctx_put) put, get, put_nbi, get_nbi;
  decltype(Rma<char, void>::ctx_put_signal) put_signal, put_signal_nbi;
};

struct StridedMove {
  size_t elem_bytes;
  decltype(Strided<char, void>::ctx_iput) iput, iget;
  decltype(Strided<char, void>::ctx_ibput) ibput, ibget;
};

struct SingleMove {
  size_t elem_bytes;
  std::function<void(shmem_ctx_t, void* dest, const void* value, int pe)> p;
  std::function<void(shmem_ctx_t, void* value, const void* source, int pe)> g;
};

// One call of an atomic, of which a routine is to be drawn by `which`.
struct AtomicCall {
  shmem_ctx_t ctx;
  size_t which;
  uint64_t seed;
  void* word;     // symmetric, of PE `pe`
  void* model;    // what the word holds
  void* fetched;  // there after quiet, if is_late
  int pe;
  bool is_wrong = false, is_late = false;
  unsigned char expected[8] = {};  // in `fetched`

  template <typename E>
  E before() const {
    E value;
    std::memcpy(&value, model, sizeof value);
    return value;
  }
  template <typename E>
  void leave(const E& value) const {
    std::memcpy(model, &value, sizeof value);
  }
  template <typename E>
  void compare(const E& got, const E& wanted) {
    is_wrong = std::memcmp(&got, &wanted, sizeof got) != 0;
  }
  template <typename E>
  void compare_later(const E& wanted) {
    is_late = true;
    std::memcpy(expected, &wanted, sizeof wanted);
  }
};

struct Atomic {
  const char* type;
  size_t elem_bytes;
  std::function<void(AtomicCall&)> call;
};

template <typename Row>
void call_extended(const Row& row, AtomicCall& call) {
  using E = typename Row::Element;
  auto* word = static_cast<E*>(call.word);
  auto* fetched = static_cast<E*>(call.fetched);
  const E value = sample<E>(call.seed), before = call.before<E>();
  const size_t which = call.which % 5;
  if (which == 0) call.compare(row.ctx_atomic_fetch(call.ctx, word, call.pe), before);
  if (which == 1) row.ctx_atomic_set(call.ctx, word, value, call.pe);
  if (which == 2) call.compare(row.ctx_atomic_swap(call.ctx, word, value, call.pe), before);
  if (which == 3) row.ctx_atomic_fetch_nbi(call.ctx, fetched, word, call.pe);
  if (which == 4) row.ctx_atomic_swap_nbi(call.ctx, fetched, word, value, call.pe);
  if (which >= 3) call.compare_later(before);
  call.leave(which == 0 || which == 3 ? before : value);
}

template <typename Row>
void call_standard(const Row& row, AtomicCall& call) {
  using E = typename Row::Element;
  auto* word = static_cast<E*>(call.word);
  auto* fetched = static_cast<E*>(call.fetched);
  const E value = sample<E>(call.seed), before = call.before<E>();
  const E condition = call.seed % 2 ? before : value;
  const auto sum = [&](uint64_t more) {
    return static_cast<E>(static_cast<uint64_t>(before) + more);
  };
  const auto ctx = call.ctx;
  const int pe = call.pe;
  const size_t which = call.which % 8;
  if (which == 0)
    call.compare(row.ctx_atomic_compare_swap(ctx, word, condition, value, pe), before);
  if (which == 1) row.ctx_atomic_compare_swap_nbi(ctx, fetched, word, condition, value, pe);
  if (which == 2) call.compare(row.ctx_atomic_fetch_inc(ctx, word, pe), before);
  if (which == 3) row.ctx_atomic_fetch_inc_nbi(ctx, fetched, word, pe);
  if (which == 4) row.ctx_atomic_inc(ctx, word, pe);
  if (which == 5) call.compare(row.ctx_atomic_fetch_add(ctx, word, value, pe), before);
  if (which == 6) row.ctx_atomic_fetch_add_nbi(ctx, fetched, word, value, pe);
  if (which == 7) row.ctx_atomic_add(ctx, word, value, pe);
  if (which == 1 || which == 3 || which == 6) call.compare_later(before);
  if (which <= 1) {
    call.leave(condition == before ? value : before);
  } else {
    call.leave(sum(which <= 4 ? 1 : static_cast<uint64_t>(value)));
  }
}

template <typename Row>
void call_bitwise(const Row& row, AtomicCall& call) {
  using E = typename Row::Element;
  auto* word = static_cast<E*>(call.word);
  auto* fetched = static_cast<E*>(call.fetched);
  const E value = sample<E>(call.seed), before = call.before<E>();
  const auto ctx = call.ctx;
  const int pe = call.pe;
  const size_t which = call.which % 9;
  if (which == 0) call.compare(row.ctx_atomic_fetch_and(ctx, word, value, pe), before);
  if (which == 1) row.ctx_atomic_fetch_and_nbi(ctx, fetched, word, value, pe);
  if (which == 2) row.ctx_atomic_and(ctx, word, value, pe);
  if (which == 3) call.compare(row.ctx_atomic_fetch_or(ctx, word, value, pe), before);
  if (which == 4) row.ctx_atomic_fetch_or_nbi(ctx, fetched, word, value, pe);
  if (which == 5) row.ctx_atomic_or(ctx, word, value, pe);
  if (which == 6) call.compare(row.ctx_atomic_fetch_xor(ctx, word, value, pe), before);
  if (which == 7) row.ctx_atomic_fetch_xor_nbi(ctx, fetched, word, value, pe);
  if (which == 8) row.ctx_atomic_xor(ctx, word, value, pe);
  if (which % 3 == 1) call.compare_later(before);
  call.leave(static_cast<E>(which < 3   ? before & value
                            : which < 6 ? before | value
                                        : before ^ value));
}

struct OneSided {
  std::vector<Move> moves;
  std::vector<StridedMove> strided;
  std::vector<SingleMove> singles;
  std::vector<Atomic> atomics;

  OneSided() {
    const auto add_move = [&](const auto& row) {
      moves.push_back({sizeof(typename std::decay_t<decltype(row)>::Element), row.ctx_put,
                       row.ctx_get, row.ctx_put_nbi, row.ctx_get_nbi, row.ctx_put_signal,
                       row.ctx_put_signal_nbi});
    };
    add_move(rma_mem());
    for_each_sized_rma(add_move);
    for_each_sized_strided([&](const auto& row) {
      strided.push_back({sizeof(typename std::decay_t<decltype(row)>::Element), row.ctx_iput,
                         row.ctx_iget, row.ctx_ibput, row.ctx_ibget});
    });
    for_each_single([&](const auto& row) { add_single(row); });
    for_each_atomic_ext([&](const auto& row) {
      add_atomic(row, [](const auto& r, AtomicCall& c) { call_extended(r, c); });
    });
    for_each_atomic_std([&](const auto& row) {
      add_atomic(row, [](const auto& r, AtomicCall& c) { call_standard(r, c); });
    });
    for_each_atomic_bit([&](const auto& row) {
      add_atomic(row, [](const auto& r, AtomicCall& c) { call_bitwise(r, c); });
    });
  }

 private:
  template <typename Row, typename Call>
  void add_atomic(const Row& row, const Call& call) {
    atomics.push_back({row.type, sizeof(typename Row::Element),
                       [row, call](AtomicCall& drawn) { call(row, drawn); }});
  }
  // Not long double, which has bytes without a value.
  template <typename Row>
  void add_single(const Row& row) {
    using E = typename Row::Element;
    if constexpr (sizeof(E) <= 8) {
      singles.push_back({sizeof(E),
                         [row](shmem_ctx_t ctx, void* dest, const void* from, int pe) {
                           E value;
                           std::memcpy(&value, from, sizeof value);
                           row.ctx_p(ctx, static_cast<E*>(dest), value, pe);
                         },
                         [row](shmem_ctx_t ctx, void* to, const void* source, int pe) {
                           const E value = row.ctx_g(ctx, static_cast<const E*>(source), pe);
                           std::memcpy(to, &value, sizeof value);
                         }});
    }
  }
};

}  // namespace meshmem

#endif
