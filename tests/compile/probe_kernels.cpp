// SPDX-License-Identifier: Apache-2.0
//
// Kernels that are compiled to assembly and read by instructions.py, never run. Each wraps routines
// of device/ that synchronize, with stores before and loads after that need them.
// Invariant: a name says what must be in the kernel and who calls: <word>_<routine>_<thread|wave|
// block>, the words being those of the script's PROBES.
#include "tests/compile/probe.hpp"

#define PROBES_OF(Group, group)                                                                    \
  extern "C" __global__ void release_put_signal_##group(Word* dest, const Word* source, Word* sig, \
                                                        int pe) {                                  \
    put_signal<Word>(Group(), kWorld, dest, source, kMany, sig, 1, SHMEM_SIGNAL_SET, pe);          \
  }                                                                                                \
  extern "C" __global__ void release_put_signal_add_##group(Word* dest, const Word* source,        \
                                                            Word* sig, int pe) {                   \
    put_signal_nbi<Word>(Group(), kWorld, dest, source, kMany, sig, 1, SHMEM_SIGNAL_ADD, pe);      \
  }                                                                                                \
  extern "C" __global__ void release_quiet_##group(Data* data, Word* flag) {                       \
    data[here()] = 1;                                                                              \
    quiet(Group());                                                                                \
    if (is_last(Group())) store_relaxed(flag, Word{1});                                            \
  }                                                                                                \
  extern "C" __global__ void release_fence_##group(Data* data, Word* flag) {                       \
    data[here()] = 1;                                                                              \
    fence(Group());                                                                                \
    if (is_last(Group())) store_relaxed(flag, Word{1});                                            \
  }                                                                                                \
  extern "C" __global__ void release_drained_quiet_##group(Data* data, const Word* other,          \
                                                           Word* flag) {                           \
    data[here()] = 1;                                                                              \
    if (!is_drained(other)) return;                                                                \
    quiet(Group());                                                                                \
    if (is_last(Group())) store_relaxed(flag, Word{1});                                            \
  }                                                                                                \
  extern "C" __global__ void release_drained_fence_##group(Data* data, const Word* other,          \
                                                           Word* flag) {                           \
    data[here()] = 1;                                                                              \
    if (!is_drained(other)) return;                                                                \
    fence(Group());                                                                                \
    if (is_last(Group())) store_relaxed(flag, Word{1});                                            \
  }                                                                                                \
  extern "C" __global__ void acquire_wait_until_##group(Result* result, const Word* data,          \
                                                        Word* ivar) {                              \
    wait_until(Group(), ivar, SHMEM_CMP_EQ, Word{1});                                              \
    use(Group(), result, data);                                                                    \
  }                                                                                                \
  extern "C" __global__ void acquire_wait_until_any_##group(Result* result, const Word* data,      \
                                                            Word* ivars) {                         \
    wait_until_any(Group(), ivars, 2, nullptr, SHMEM_CMP_EQ, Word{1});                             \
    use(Group(), result, data);                                                                    \
  }                                                                                                \
  extern "C" __global__ void acquire_signal_wait_until_##group(Result* result, const Word* data,   \
                                                               Word* sig) {                        \
    signal_wait_until(Group(), sig, SHMEM_CMP_EQ, 1);                                              \
    use(Group(), result, data);                                                                    \
  }                                                                                                \
  extern "C" __global__ void release_puts_##group(Word* dest, const Word* source, Word* sig,       \
                                                  int pe) {                                        \
    put<Word>(Group(), kWorld, dest, source, kMany, pe);                                           \
    put_nbi<Word>(Group(), kWorld, dest, source, kMany, pe);                                       \
    iput<Word>(Group(), kWorld, dest, source, 2, 2, kMany, pe);                                    \
    p(Group(), kWorld, dest, Word{1}, pe);                                                         \
    ctx_fence(Group(), shmem_ctx_t());                                                             \
    if (is_last(Group())) signal_set(kWorld, sig, 1, pe);                                          \
  }                                                                                                \
  extern "C" __global__ void release_puts_quiet_##group(Word* dest, const Word* source, Word* sig, \
                                                        int pe) {                                  \
    ibput<Word>(Group(), kWorld, dest, source, 2, 2, 1, kMany, pe);                                \
    ctx_quiet(Group(), shmem_ctx_t());                                                             \
    if (is_last(Group())) signal_add(kWorld, sig, 1, pe);                                          \
  }                                                                                                \
  extern "C" __global__ void acquire_wait_until_all_##group(Result* result, const Word* data,      \
                                                            Word* ivars, const int* status) {      \
    wait_until_all(Group(), ivars, 9, status, SHMEM_CMP_EQ, Word{1});                              \
    use(Group(), result, data);                                                                    \
  }                                                                                                \
  extern "C" __global__ void acquire_wait_until_some_##group(Result* result, const Word* data,     \
                                                             Word* ivars, std::size_t* indices) {  \
    wait_until_some(Group(), ivars, 9, indices, nullptr, SHMEM_CMP_EQ, Word{1});                   \
    use(Group(), result, data);                                                                    \
  }                                                                                                \
  extern "C" __global__ void acquire_wait_until_all_vector_##group(                                \
      Result* result, const Word* data, Word* ivars, const Word* values) {                         \
    wait_until_all_vector(Group(), ivars, 9, nullptr, SHMEM_CMP_EQ, values);                       \
    use(Group(), result, data);                                                                    \
  }                                                                                                \
  extern "C" __global__ void acquire_wait_until_any_vector_##group(                                \
      Result* result, const Word* data, Word* ivars, const Word* values) {                         \
    wait_until_any_vector(Group(), ivars, 9, nullptr, SHMEM_CMP_EQ, values);                       \
    use(Group(), result, data);                                                                    \
  }                                                                                                \
  extern "C" __global__ void acquire_wait_until_some_vector_##group(                               \
      Result* result, const Word* data, Word* ivars, std::size_t* indices, const Word* values) {   \
    wait_until_some_vector(Group(), ivars, 9, indices, nullptr, SHMEM_CMP_EQ, values);             \
    use(Group(), result, data);                                                                    \
  }                                                                                                \
  extern "C" __global__ void both_barrier_all_##group(Data* data, Result* result,                  \
                                                      const Word* others) {                        \
    data[here()] = 1;                                                                              \
    barrier_all(Group());                                                                          \
    use(Group(), result, others);                                                                  \
  }                                                                                                \
  extern "C" __global__ void both_sync_all_##group(Data* data, Result* result,                     \
                                                   const Word* others) {                           \
    data[here()] = 1;                                                                              \
    sync_all(Group());                                                                             \
    use(Group(), result, others);                                                                  \
  }                                                                                                \
  extern "C" __global__ void release_announce_##group(Data* data) {                                \
    data[here()] = 1;                                                                              \
    announce(Workers{Group()}, Group(), TeamSync(0, 1), 2, 3, 4);                                  \
  }                                                                                                \
  extern "C" __global__ void acquire_await_##group(Result* result, const Word* data) {             \
    await(Group(), TeamSync(0, 1), 2, 3, 4);                                                       \
    use(Group(), result, data);                                                                    \
  }                                                                                                \
  extern "C" __global__ void send_put_packets_##group(Data* packets, const Word* source, int pe) { \
    put_packets(Group(), kWorld, packets, source, kMany, 1, pe);                                   \
  }                                                                                                \
  extern "C" __global__ void receive_wait_packets_##group(Word* dest, const Data* packets) {       \
    wait_packets(Group(), dest, packets, kMany, 1);                                                \
  }                                                                                                \
  extern "C" __global__ void get_get_##group(Word* dest, const Word* source, int pe) {             \
    get<Word>(Group(), kWorld, dest, source, 1, pe);                                               \
  }                                                                                                \
  extern "C" __global__ void get_iget_##group(Word* dest, const Word* source, int pe) {            \
    iget<Word>(Group(), kWorld, dest, source, 1, 1, 1, pe);                                        \
    get_nbi<Word>(Group(), kWorld, dest, source, kMany, pe);                                       \
  }

PROBES_OF(Thread, thread)
PROBES_OF(Wave, wave)
PROBES_OF(Block, block)

extern "C" __global__ void both_meeting_of_grid_by_block(Data* data, Result* result,
                                                         const Word* others) {
  data[here()] = 1;
  meet(CooperativeGrid(), TeamSync(0));
  use(Block(), result, others);
}
extern "C" __global__ void both_barrier_all_of_grid_by_block(Data* data, Result* result,
                                                             const Word* others) {
  data[here()] = 1;
  barrier_all(CooperativeGrid());
  use(Block(), result, others);
}
extern "C" __global__ void release_put_signal_of_block_by_wave(Word* dest, const Word* source,
                                                               Word* sig, int pe) {
  put_signal<Word>(Block(), kWorld, dest, source, kFew, sig, 1, SHMEM_SIGNAL_SET, pe);
}
// A store in a turn is awaited in the next turn.
extern "C" __global__ void release_fence_each_turn_thread(Data* data, Word* flag, int n) {
  for (int i = 0; i < n; ++i) {
    fence(Thread());
    store_relaxed(flag, Word(i));
    data[i] = 1;
  }
}
extern "C" __global__ void release_quiet_each_turn_thread(Data* data, Word* flag, int n) {
  for (int i = 0; i < n; ++i) {
    quiet(Thread());
    store_relaxed(flag, Word(i));
    data[i] = 1;
  }
}
extern "C" __global__ void stream_signal_thread(Word* flag) {
  fence(Thread());
  store_relaxed(flag, Word{1});
}
extern "C" __global__ void both_ring_step_block(Data* to, Data* also, const Data* in,
                                                const Data* own, std::size_t n) {
  const Workers workers{Block()};
  await_by_waves(Block(), TeamSync(0, 1), 2, 3, 3);
  combine_run(StaticOp<ReduceOp::sum>(), workers, to, also, in, own, n, 1);
  announce(workers, Block(), TeamSync(0, 1), 2, 3, 4);
}
extern "C" __global__ void get_g_thread(Word* to, const Word* source, int pe) {
  *to = g(Thread(), kWorld, source, pe);
}
extern "C" __global__ void get_copy_thread(Word* to, const Word* there) {
  before_get();
  copy<OthersSource>(Thread(), to, there, sizeof *to);
}
extern "C" __global__ void acquire_signal_fetch_thread(Result* result, const Word* data,
                                                       const Word* sig) {
  if (signal_fetch(sig) == 1) use(Thread(), result, data);
}
extern "C" __global__ void acquire_signal_fetch_wave(Result* result, const Word* data,
                                                     const Word* sig) {
  if (signal_fetch_by(Wave(), sig) == 1) use(Wave(), result, data);
}
extern "C" __global__ void acquire_signal_fetch_block(Result* result, const Word* data,
                                                      const Word* sig) {
  if (signal_fetch_by(Block(), sig) == 1) use(Block(), result, data);
}

// ---- Tests

#define TEST_PROBE(name, ...)                                                                    \
  extern "C" __global__ void test_##name##_thread(Result* result, const Word* data, Word* ivars, \
                                                  std::size_t* indices, const Word* values) {    \
    *indices = *values;                                                                          \
    if (static_cast<std::size_t>(__VA_ARGS__) == 1) use(Thread(), result, data);                 \
  }
TEST_PROBE(test, test(ivars, SHMEM_CMP_EQ, Word{1}))
TEST_PROBE(test_all, test_all(ivars, 9, nullptr, SHMEM_CMP_EQ, Word{1}))
TEST_PROBE(test_any, test_any(ivars, 9, nullptr, SHMEM_CMP_EQ, Word{1}))
TEST_PROBE(test_some, test_some(ivars, 9, indices, nullptr, SHMEM_CMP_EQ, Word{1}))
TEST_PROBE(test_all_vector, test_all_vector(ivars, 9, nullptr, SHMEM_CMP_EQ, values))
TEST_PROBE(test_any_vector, test_any_vector(ivars, 9, nullptr, SHMEM_CMP_EQ, values))
TEST_PROBE(test_some_vector, test_some_vector(ivars, 9, indices, nullptr, SHMEM_CMP_EQ, values))
#undef TEST_PROBE

// ---- Atomics, which order nothing, but have the scope of the system

extern "C" __global__ void put_atomics_thread(Word* at, Word* to, int pe) {
  *to += atomic_fetch(kWorld, at, pe) + atomic_swap(kWorld, at, Word{1}, pe) +
         atomic_compare_swap(kWorld, at, Word{1}, Word{2}, pe) +
         atomic_fetch_add(kWorld, at, Word{1}, pe) + atomic_fetch_inc(kWorld, at, pe) +
         atomic_fetch_and(kWorld, at, Word{1}, pe) + atomic_fetch_or(kWorld, at, Word{1}, pe) +
         atomic_fetch_xor(kWorld, at, Word{1}, pe);
  atomic_set(kWorld, at, Word{1}, pe);
  atomic_add(kWorld, at, Word{1}, pe);
  atomic_inc(kWorld, at, pe);
  atomic_and(kWorld, at, Word{1}, pe);
  atomic_or(kWorld, at, Word{1}, pe);
  atomic_xor(kWorld, at, Word{1}, pe);
}
extern "C" __global__ void put_atomics_nbi_thread(Word* at, Word* to, int pe) {
  atomic_fetch_nbi(kWorld, to, at, pe);
  atomic_swap_nbi(kWorld, to + 1, at, Word{1}, pe);
  atomic_compare_swap_nbi(kWorld, to + 2, at, Word{1}, Word{2}, pe);
  atomic_fetch_add_nbi(kWorld, to + 3, at, Word{1}, pe);
  atomic_fetch_inc_nbi(kWorld, to + 4, at, pe);
  atomic_fetch_and_nbi(kWorld, to + 5, at, Word{1}, pe);
  atomic_fetch_or_nbi(kWorld, to + 6, at, Word{1}, pe);
  atomic_fetch_xor_nbi(kWorld, to + 7, at, Word{1}, pe);
}

// ---- Packets, and the collectives that groups in users' kernels call

extern "C" __global__ void send_line_thread(Bits128* to, Word data, Word epoch) {
  send_line(to, data, epoch);
}
extern "C" __global__ void receive_line_thread(Word* to, const Bits128* from, Word epoch) {
  *to = receive_line(from, epoch);
}
extern "C" __global__ void both_wiping_block(Word* to, Word epoch) {
  *to = epoch_after_wiping(Block(), TeamSync(0), epoch);
}

#define COLLECTIVE_PROBE(word, name, group, ...)                                          \
  extern "C" __global__ void word##_##name##_##group(shmem_team_t team, Word* dest,       \
                                                     const Word* source, std::size_t n) { \
    __VA_ARGS__;                                                                          \
  }
COLLECTIVE_PROBE(both, team_sync, wave, *dest = n; team_sync(Wave(), team); *dest = *source)
COLLECTIVE_PROBE(packets, broadcast, wave, broadcast<Word>(Wave(), team, dest, source, n, 0))
COLLECTIVE_PROBE(packets, alltoallv, wave,
                 alltoallv<Word>(Wave(), team, dest + n, source, source, source, source, source))
COLLECTIVE_PROBE(packets, inscan, thread, sum_inscan(Thread(), team, dest, source, n))
COLLECTIVE_PROBE(packets, scan_of_grid, block, sum_inscan(CooperativeGrid(), team, dest, source, n))
#undef COLLECTIVE_PROBE

extern "C" __global__ void end_pe_quiet_thread(Data* data) {
  *data = 1;
  pe_quiet(kWorld, nullptr, 0);
}
extern "C" __global__ void end_pe_quiet_block(Data* data) {
  data[threadIdx.x] = 1;
  quiet_of(Block(), nullptr, 0);
}
extern "C" __global__ void end_ctx_pe_quiet_wave(Data* data) {
  data[threadIdx.x] = 1;
  ctx_quiet_of(Wave(), SHMEM_CTX_DEFAULT, nullptr, 0);
}
