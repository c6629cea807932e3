// SPDX-License-Identifier: Apache-2.0
//
// Signals in kernels: set and add with and without a context, fetch, and waits by a thread, a wave
// and a block. Also the questions that kernels can ask about PEs, teams and addresses.
// Invariant: data and signal go to the next PE while it waits for the previous one's. Puts with
// signals of every type are in rma_test.cpp, their order in litmus_test.cpp.
#include "reversed_context.hpp"

namespace meshmem {
namespace {

struct Signal {
  MESHMEM_ROUTINES_CTX(MESHMEM_CALL_CTX)
};

__global__ void update_kernel(Call call, uint64_t* words, int pe, uint64_t* fetched) {
  Signal::signal_set(call, words, uint64_t{1} << 63, pe);
  shmem_fence();
  Signal::signal_add(call, words, 7, pe);
  Signal::signal_add(call, words + 1, ~uint64_t{0}, pe);  // 3 - 1
  Signal::pe_quiet(call, &pe, 1);
  fetched[0] = shmem_signal_wait_until(words, SHMEM_CMP_EQ, (uint64_t{1} << 63) + 7);
  fetched[1] = shmem_signal_wait_until(words + 1, SHMEM_CMP_NE, 3);
  fetched[2] = shmem_signal_fetch(words);
  fetched[3] = shmem_signal_fetch(words + 2);
}

TEST(DeviceSignal, S44_SetsAddsAndFetches) {
  const ReversedContext context;
  for (const Form form : {Form::kThread, Form::kThreadCtx}) {
    SCOPED_TRACE(name_of(form));
    DeviceArray<uint64_t> words({3, 3, 3}), fetched(4, 0);
    shmem_barrier_all();
    launch(update_kernel, 1, 1, context.call(form), words.data(), context.pe(form, next_pe()),
           fetched.data());
    meet_after_kernels();
    const uint64_t sum = (uint64_t{1} << 63) + 7;
    expect_equal("words", words.download(), {sum, 2, 3});
    expect_equal("fetched", fetched.download(), {sum, 2, sum, 3});
  }
}

__global__ void add_kernel(uint64_t* word, int rounds) {
  for (int i = 0; i < rounds; ++i)
    for (int pe = 0; pe < shmem_n_pes(); ++pe) shmem_signal_add(word, 1, pe);
}

// Every thread of the group gets the value that satisfied the wait.
__global__ void group_kernel(Form form, uint64_t* word, int next, uint64_t* seen) {
  if (threadIdx.x == 0) {
    shmem_signal_set(word, 41, next);
    shmem_signal_set(word, 1000, next);
  }
  if (!takes_part(form)) return;
  uint64_t value = 0;
  if (form == Form::kThread) value = shmem_signal_wait_until(word, SHMEM_CMP_GE, 1000);
  if (form == Form::kWave) value = shmemx_signal_wait_until_wave(word, SHMEM_CMP_GE, 1000);
  if (form == Form::kBlock) value = shmemx_signal_wait_until_block(word, SHMEM_CMP_GE, 1000);
  seen[threadIdx.x] = value;
}

TEST(DeviceSignal, S44_WaitsReturnTheValueToTheWholeGroup) {
  for (const Form form : kGroups) {
    SCOPED_TRACE(name_of(form));
    const size_t threads = odd_block(), whole = wave_size();
    DeviceArray<uint64_t> word(1, 0), seen(threads, 0);
    shmem_barrier_all();
    launch(group_kernel, 1, odd_block(), form, word.data(), next_pe(), seen.data());
    meet_after_kernels();
    expect_each("seen", seen.download().data(), threads, [=](size_t i) {
      const bool takes_part = form == Form::kBlock || (form == Form::kWave ? i >= whole : i == 0);
      return takes_part ? uint64_t{1000} : uint64_t{0};
    });
  }
}

TEST(DeviceSignal, S44_NoAdditionIsLost) {
  constexpr int kRounds = 10;
  constexpr unsigned kBlocks = 2, kThreads = 40;
  DeviceArray<uint64_t> word(1, 0);
  shmem_barrier_all();
  launch(add_kernel, kBlocks, kThreads, word.data(), kRounds);
  meet_after_kernels();
  EXPECT_EQ(word.first(), uint64_t{kRounds} * kBlocks * kThreads * static_cast<uint64_t>(n_pes()));
}

struct Answers {
  int me, n, team_me, team_n, no_team_me, no_team_n, translated, translated_back, not_in_team;
  bool mine_is_ptr, far_is_null, stack_is_null, team_ptr_is_ptr, no_team_ptr_is_null;
  long through_ptr;
};

__global__ void query_kernel(shmem_team_t reversed, shmem_team_t first, long* word, Answers* out) {
  const long local = 1;
  Answers& a = *out;
  a.me = shmem_my_pe();
  a.n = shmem_n_pes();
  a.team_me = shmem_team_my_pe(reversed);
  a.team_n = shmem_team_n_pes(reversed);
  a.no_team_me = shmem_team_my_pe(SHMEM_TEAM_INVALID);
  a.no_team_n = shmem_team_n_pes(SHMEM_TEAM_INVALID);
  a.translated = shmem_team_translate_pe(reversed, 0, SHMEM_TEAM_WORLD);
  a.translated_back = shmem_team_translate_pe(SHMEM_TEAM_WORLD, a.n - 1, reversed);
  a.not_in_team =
      first == SHMEM_TEAM_INVALID ? 0 : shmem_team_translate_pe(SHMEM_TEAM_WORLD, a.n - 1, first);
  const int next = (a.me + 1) % a.n;
  a.mine_is_ptr = shmem_ptr(word, a.me) == word;
  a.far_is_null = shmem_ptr(word, a.n) == nullptr && shmem_ptr(word, -1) == nullptr;
  a.stack_is_null = shmem_ptr(&local, a.me) == nullptr;
  a.team_ptr_is_ptr = shmem_team_ptr(reversed, word, a.n - 1 - next) == shmem_ptr(word, next);
  a.no_team_ptr_is_null = shmem_team_ptr(SHMEM_TEAM_INVALID, word, 0) == nullptr &&
                          shmem_team_ptr(reversed, word, a.n) == nullptr;
  const auto* there = static_cast<const long*>(shmem_ptr(word, next));
  a.through_ptr = there ? *there : -1;
}

TEST(DeviceQuery, KnowsPesTeamsAndAddresses) {
  const int n = n_pes();
  shmem_team_t reversed = SHMEM_TEAM_INVALID, first = SHMEM_TEAM_INVALID;
  EXPECT_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, nullptr, 0, &reversed), 0);
  EXPECT_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, nullptr, 0, &first), 0);
  DeviceArray<long> word(1, 500 + my_pe());
  DeviceArray<Answers> out(1);
  shmem_barrier_all();
  launch(query_kernel, 1, 1, reversed, first, word.data(), out.data());
  meet_after_kernels();
  const Answers a = out.first();
  EXPECT_EQ(a.me, my_pe());
  EXPECT_EQ(a.n, n);
  EXPECT_EQ(a.team_me, n - 1 - my_pe());
  EXPECT_EQ(a.team_n, n);
  EXPECT_EQ(a.no_team_me, -1);
  EXPECT_EQ(a.no_team_n, -1);
  EXPECT_EQ(a.translated, n - 1);
  EXPECT_EQ(a.translated_back, 0);
  EXPECT_EQ(a.not_in_team, n == 1 || my_pe() != 0 ? 0 : -1);
  EXPECT_TRUE(a.mine_is_ptr);
  EXPECT_TRUE(a.far_is_null);
  EXPECT_TRUE(a.stack_is_null);
  EXPECT_TRUE(a.team_ptr_is_ptr);
  EXPECT_TRUE(a.no_team_ptr_is_null);
  EXPECT_EQ(a.through_ptr, 500 + next_pe());
  shmem_team_destroy(first);
  shmem_team_destroy(reversed);
}

}  // namespace
}  // namespace meshmem
