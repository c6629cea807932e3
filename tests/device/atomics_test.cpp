// SPDX-License-Identifier: Apache-2.0
//
// Atomics in kernels: every routine of every type with and without a context, against a model; and
// all PEs and many threads at once on one word.
// Invariant: in the model's tests each PE alone changes the next one's word, so that every fetched
// value is known.
#include "reversed_context.hpp"

namespace meshmem {
namespace {

#define MESHMEM_ROW_EXT(NAME, TYPE, rma, ext, ...) \
  MESHMEM_CALLS_##ext(Ext, MESHMEM_ROWS_EXT, NAME, TYPE)
#define MESHMEM_ROW_STD(NAME, TYPE, rma, ext, amo, ...) \
  MESHMEM_CALLS_##amo(Std, MESHMEM_ROWS_STD, NAME, TYPE)
#define MESHMEM_ROW_BIT(NAME, TYPE, rma, ext, amo, bit, ...) \
  MESHMEM_CALLS_##bit(Bit, MESHMEM_ROWS_BIT, NAME, TYPE)
MESHMEM_KERNEL_TYPES(MESHMEM_ROW_EXT, )
MESHMEM_KERNEL_TYPES(MESHMEM_ROW_STD, )
MESHMEM_KERNEL_TYPES(MESHMEM_ROW_BIT, )

// Values that wrap when they are added, and what a kernel fetched with them.
template <typename E>
struct Operands {
  E a, b, c;
};
template <typename E>
Operands<E> operands(int salt) {
  return {sample<E>(seed_of(my_pe(), 1, salt)), sample<E>(seed_of(my_pe(), 2, salt)),
          sample<E>(seed_of(my_pe(), 3, salt))};
}
template <typename E>
E wrapping_sum(E a, E b) {
  return static_cast<E>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

// Each script is what one thread does to a word, which ends as the last value fetched.
template <typename Row>
__global__ void ext_script(Call call, typename Row::E* word, int pe, Operands<typename Row::E> v,
                           typename Row::E* out) {
  Row::atomic_set(call, word, v.a, pe);
  out[0] = Row::atomic_fetch(call, word, pe);
  out[1] = Row::atomic_swap(call, word, v.b, pe);
  Row::atomic_fetch_nbi(call, out + 2, word, pe);
  Row::atomic_swap_nbi(call, out + 3, word, v.c, pe);
  shmem_quiet();
  out[4] = Row::atomic_fetch(call, word, pe);
}
template <typename E>
std::vector<E> ext_model(const Operands<E>& v, E) {
  return {v.a, v.a, v.b, v.b, v.c};
}

template <typename Row>
__global__ void std_script(Call call, typename Row::E* word, int pe, Operands<typename Row::E> v,
                           typename Row::E* out) {
  using E = typename Row::E;
  const E start = out[0];
  out[0] = Row::atomic_compare_swap(call, word, static_cast<E>(start + 1), v.c, pe);  // leaves it
  out[1] = Row::atomic_compare_swap(call, word, start, v.a, pe);
  out[2] = Row::atomic_fetch_add(call, word, v.b, pe);
  Row::atomic_add(call, word, v.c, pe);
  out[3] = Row::atomic_fetch_inc(call, word, pe);
  Row::atomic_inc(call, word, pe);
  Row::atomic_fetch_inc_nbi(call, out + 4, word, pe);
  shmem_quiet();
  Row::atomic_fetch_add_nbi(call, out + 5, word, v.a, pe);
  shmem_quiet();
  Row::atomic_compare_swap_nbi(call, out + 6, word, out[5], v.b, pe);  // leaves it, mostly
  shmem_quiet();
  out[7] = Row::atomic_fetch_add(call, word, E(0), pe);
}
template <typename E>
std::vector<E> std_model(const Operands<E>& v, E start) {
  std::vector<E> out = {start, start, v.a};
  E now = wrapping_sum(wrapping_sum(v.a, v.b), v.c);
  out.push_back(now);
  now = wrapping_sum(now, E(2));
  out.push_back(now);
  now = wrapping_sum(now, E(1));
  out.push_back(now);
  const E before = now;
  now = wrapping_sum(now, v.a);
  out.push_back(now);
  out.push_back(now == before ? v.b : now);
  return out;
}

template <typename Row>
__global__ void bit_script(Call call, typename Row::E* word, int pe, Operands<typename Row::E> v,
                           typename Row::E* out) {
  out[0] = Row::atomic_fetch_or(call, word, v.a, pe);
  out[1] = Row::atomic_fetch_and(call, word, v.b, pe);
  out[2] = Row::atomic_fetch_xor(call, word, v.c, pe);
  Row::atomic_or(call, word, v.b, pe);
  Row::atomic_xor(call, word, v.a, pe);
  Row::atomic_and(call, word, v.c, pe);
  Row::atomic_fetch_or_nbi(call, out + 3, word, v.a, pe);
  shmem_quiet();
  Row::atomic_fetch_xor_nbi(call, out + 4, word, v.b, pe);
  shmem_quiet();
  Row::atomic_fetch_and_nbi(call, out + 5, word, v.c, pe);
  shmem_quiet();
  out[6] = Row::atomic_fetch_or(call, word, 0, pe);
}
template <typename E>
std::vector<E> bit_model(const Operands<E>& v, E start) {
  std::vector<E> out = {start};
  E now = start | v.a;
  out.push_back(now);
  now &= v.b;
  out.push_back(now);
  now = static_cast<E>((((now ^ v.c) | v.b) ^ v.a) & v.c);
  out.push_back(now);
  now |= v.a;
  out.push_back(now);
  now ^= v.b;
  out.push_back(now);
  out.push_back(now & v.c);
  return out;
}

template <typename E>
using Script = void (*)(Call, E*, int, Operands<E>, E*);

// Runs a script on the next PE's word with each kind of context, and compares with the model.
template <typename E>
void check_script(const char* type, const ReversedContext& context, Script<E> script,
                  std::vector<E> (*model)(const Operands<E>&, E)) {
  SCOPED_TRACE(type);
  for (const Form form : {Form::kThread, Form::kThreadCtx}) {
    SCOPED_TRACE(name_of(form));
    const Operands<E> values = operands<E>(static_cast<int>(form));
    const E start = sample<E>(99);
    const auto expected = model(values, start);
    DeviceArray<E> words(3, start), out(expected.size(), start);
    shmem_barrier_all();
    launch(script, 1, 1, context.call(form), words.data() + 1, context.pe(form, next_pe()), values,
           out.data());
    meet_after_kernels();
    expect_equal("what was fetched", out.download(), expected);
    DeviceArray<E> theirs(1, E(0));
    shmem_barrier_all();
    shmem_putmem(theirs.data(), out.data() + expected.size() - 1, sizeof(E), next_pe());
    shmem_barrier_all();
    expect_equal("the word and its neighbours", words.download(), {start, theirs.first(), start});
  }
}

TEST(DeviceAtomics, ExtendedTypesFollowTheModel) {
  const ReversedContext context;
#define MESHMEM_CHECK_ROW(NAME, TYPE, rma, ext, ...) \
  MESHMEM_IN_##ext(check_script<TYPE>(#NAME, context, ext_script<Ext_##NAME>, ext_model<TYPE>);)
  MESHMEM_KERNEL_TYPES(MESHMEM_CHECK_ROW, )
#undef MESHMEM_CHECK_ROW
}

TEST(DeviceAtomics, StandardTypesFollowTheModelAndWrap) {
  const ReversedContext context;
#define MESHMEM_CHECK_ROW(NAME, TYPE, rma, ext, amo, ...) \
  MESHMEM_IN_##amo(check_script<TYPE>(#NAME, context, std_script<Std_##NAME>, std_model<TYPE>);)
  MESHMEM_KERNEL_TYPES(MESHMEM_CHECK_ROW, )
#undef MESHMEM_CHECK_ROW
}

TEST(DeviceAtomics, BitwiseTypesFollowTheModel) {
  const ReversedContext context;
#define MESHMEM_CHECK_ROW(NAME, TYPE, rma, ext, amo, bit, ...) \
  MESHMEM_IN_##bit(check_script<TYPE>(#NAME, context, bit_script<Bit_##NAME>, bit_model<TYPE>);)
  MESHMEM_KERNEL_TYPES(MESHMEM_CHECK_ROW, )
#undef MESHMEM_CHECK_ROW
}

constexpr unsigned kBlocks = 3, kThreads = 40;
constexpr int kRounds = 20;
size_t callers() { return static_cast<size_t>(n_pes()) * kBlocks * kThreads; }

// Each thread draws tickets and marks them.
template <typename E>
__global__ void ticket_kernel(E* counter, int* drawn, int owner, int rounds, size_t tickets) {
  for (int i = 0; i < rounds; ++i) {
    const auto one = static_cast<size_t>(shmem_atomic_fetch_inc(counter, owner));
    const auto two = static_cast<size_t>(shmem_atomic_fetch_add(counter, E(1), owner));
    shmem_int_atomic_inc(drawn + (one < tickets ? one : tickets), owner);
    shmem_int_atomic_inc(drawn + (two < tickets ? two : tickets), owner);
  }
}

template <typename E>
void check_tickets() {
  const size_t tickets = callers() * 2 * kRounds;
  DeviceArray<E> counter(1, E(0));
  DeviceArray<int> drawn(tickets + 1, 0);
  shmem_barrier_all();
  const int owner = n_pes() - 1;
  launch(ticket_kernel<E>, kBlocks, kThreads, counter.data(), drawn.data(), owner, kRounds,
         tickets);
  meet_after_kernels();
  if (my_pe() != owner) return;
  EXPECT_EQ(counter.first(), static_cast<E>(tickets));
  expect_all("drawn", drawn.download().data(), tickets, 1);
}

TEST(DeviceAtomics, S41_AllThreadsOfAllPesDrawDistinctTickets) {
  check_tickets<int>();
  check_tickets<unsigned long long>();
}

// Additions of every kind, and a loop of compare and swap, to one word.
template <typename E>
__global__ void add_kernel(E* sum, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    shmem_atomic_add(sum, E(3), 0);
    shmem_atomic_inc(sum, 0);
    E seen = shmem_atomic_fetch(sum, 0);
    for (;;) {
      const E found = shmem_atomic_compare_swap(sum, seen, static_cast<E>(seen + 1), 0);
      if (found == seen) break;
      seen = found;
    }
  }
}

template <typename E>
void check_sum() {
  const E start = static_cast<E>(-7);  // wraps on the way
  DeviceArray<E> sum(1, start);
  shmem_barrier_all();
  launch(add_kernel<E>, kBlocks, kThreads, sum.data(), kRounds);
  meet_after_kernels();
  if (my_pe() == 0) {
    EXPECT_EQ(sum.first(), static_cast<E>(start + static_cast<E>(5 * kRounds * callers())));
  }
}

TEST(DeviceAtomics, S41_NoAdditionIsLost) {
  check_sum<unsigned>();
  check_sum<long>();
}

// Each thread owns a bit of a word of PE 0 and switches it on and off; the others' stay.
template <typename E>
__global__ void bits_kernel(E* words, E* errors, int rounds) {
  const int bits = static_cast<int>(8 * sizeof(E));
  const int caller = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) +
                     shmem_my_pe() * static_cast<int>(gridDim.x * blockDim.x);
  E* word = words + caller / bits;
  const E bit = E(1) << (caller % bits), others = static_cast<E>(~bit);
  for (int i = 0; i < rounds; ++i) {
    E wrong = shmem_atomic_fetch_or(word, bit, 0) & bit;
    wrong |= bit ^ (shmem_atomic_fetch_and(word, others, 0) & bit);
    wrong |= shmem_atomic_fetch_xor(word, bit, 0) & bit;
    shmem_atomic_xor(word, bit, 0);
    shmem_atomic_or(word, bit, 0);
    shmem_atomic_and(word, others, 0);
    if (wrong) shmem_atomic_inc(errors, 0);
  }
  shmem_atomic_or(word, bit, 0);
}

template <typename E>
void check_bits() {
  const size_t bits = 8 * sizeof(E), words = (callers() + bits - 1) / bits;
  DeviceArray<E> word(words, E(0)), errors(1, E(0));
  shmem_barrier_all();
  launch(bits_kernel<E>, kBlocks, kThreads, word.data(), errors.data(), kRounds);
  meet_after_kernels();
  if (my_pe() != 0) return;
  EXPECT_EQ(errors.first(), E(0));
  expect_each("bits", word.download().data(), words, [=](size_t i) {
    const size_t here = callers() - i * bits;
    return here >= bits ? static_cast<E>(~E(0)) : static_cast<E>((E(1) << here) - 1);
  });
}

TEST(DeviceAtomics, S41_EveryThreadOwnsABit) {
  check_bits<unsigned>();
  check_bits<unsigned long>();
}

// Tokens are swapped in and out of one word: the tokens that come out, and the one that is left,
// are those that went in.
__global__ void token_kernel(long* word, long* balance, int rounds) {
  const long caller = static_cast<long>(blockIdx.x * blockDim.x + threadIdx.x) +
                      shmem_my_pe() * static_cast<long>(gridDim.x * blockDim.x);
  for (int i = 0; i < rounds; ++i) {
    const long token = 1 + caller * rounds + i;
    shmem_long_atomic_add(balance, token - shmem_long_atomic_swap(word, token, 0), 0);
  }
}

TEST(DeviceAtomics, S41_SwapsLoseNoToken) {
  DeviceArray<long> word(1, 0), balance(1, 0);
  shmem_barrier_all();
  launch(token_kernel, kBlocks, kThreads, word.data(), balance.data(), kRounds);
  meet_after_kernels();
  if (my_pe() == 0) {
    EXPECT_EQ(balance.first(), word.first());
  }
}

}  // namespace
}  // namespace meshmem
