// SPDX-License-Identifier: Apache-2.0
//
// Kernels that are compiled to assembly and read by instructions.py, never run: each wraps routines
// of device/ that synchronize, with the stores before and the loads after that they are there for.
// Invariant: a name says what must be in the kernel and who calls: <word>_<routine>_<thread|wave|
// block>, the words being those of the script's PROBES. Those called planted_* break a rule, each
// another one, by a verb of device/memory.hpp that they misuse or a wrong one of the same name.
#include <hip/hip_runtime.h>

#include "device/routines.hpp"

namespace {

using namespace meshmem::device;
using Word = std::uint64_t;
using Data = unsigned char;
using Result = std::uint16_t;
constexpr WorldPes kWorld;
constexpr std::size_t kMany = 1000;  // more than what one wave of a block moves by itself
constexpr std::size_t kFew = 8;

MESHMEM_DEVICE std::size_t here() { return blockIdx.x * blockDim.x + threadIdx.x; }

MESHMEM_DEVICE Result made_of(Word value) {
  return static_cast<Result>(value * 0x9e3779b97f4a7c15u >> 48);
}
// A thread reads what is the same for all, which is what compilers read through the scalar cache.
template <typename Group>
MESHMEM_DEVICE void use(Group, Result* result, const Word* data) {
  result[here()] = made_of(data[here()]);
}
// Whoever has waited for a load has waited for the stores before it; what they left in caches is yet to
// be written back, and that to be awaited.
MESHMEM_DEVICE bool is_drained(const Word* other) { return load_relaxed(other) == 0; }
// Whoever speaks for the group need not be its leader.
template <typename Group>
MESHMEM_DEVICE bool is_last(const Group& group) {
  return group.rank() + 1 == group.size();
}
MESHMEM_DEVICE void use(Thread, Result* result, const Word* data) { *result = made_of(*data); }

#if defined(MESHMEM_TARGET_IS_HIP)
// Verbs as they must not be.
namespace wrong {

constexpr int kDevice = __HIP_MEMORY_SCOPE_AGENT;

MESHMEM_DEVICE Word load_relaxed(const Word* from) {
  return __hip_atomic_load(from, __ATOMIC_RELAXED, kDevice);
}
MESHMEM_DEVICE void store_pair(Bits128* to, Bits128 value) {
  __hip_atomic_store(&to->word[0], value.word[0], __ATOMIC_RELAXED, kDevice);
  __hip_atomic_store(&to->word[1], value.word[1], __ATOMIC_RELAXED, kDevice);
}
MESHMEM_DEVICE Word load_of_get(const Word* from) { return *from; }
MESHMEM_DEVICE bool test(const Word* ivar) { return meshmem::device::load_relaxed(ivar) == 1; }

namespace in_parts {
MESHMEM_DEVICE void store_pair(Bits128* to, Bits128 value) {
  auto* const part = reinterpret_cast<std::uint32_t*>(to);
  for (int i = 0; i < 4; ++i)
    store_relaxed(part + i, static_cast<std::uint32_t>(value.word[i / 2] >> i % 2 * 32));
}
MESHMEM_DEVICE Bits128 load_pair(const Bits128* from) {
  const auto* const part = reinterpret_cast<const std::uint32_t*>(from);
  Bits128 line{};
  for (int i = 0; i < 4; ++i)
    line.word[i / 2] |= Word{meshmem::device::load_relaxed(part + i)} << i % 2 * 32;
  return line;
}
}  // namespace in_parts

}  // namespace wrong
#endif

}  // namespace

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
    announce(Group(), TeamSync(0, 1), 2, 3, 4);                                                    \
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
// What is stored in a turn is awaited in the next.
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
  await(Block(), TeamSync(0, 1), 2, 3, 3);
  combine_run<ReduceOp::sum>(Block(), to, also, in, own, n, 1);
  announce(Block(), TeamSync(0, 1), 2, 3, 4);
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
COLLECTIVE_PROBE(packets, inscan, thread, sum_inscan(Thread(), team, dest, source, n))
COLLECTIVE_PROBE(packets, scan_of_grid, block, sum_inscan(CooperativeGrid(), team, dest, source, n))
#undef COLLECTIVE_PROBE

extern "C" __global__ void end_pe_quiet_thread(Data* data) {
  *data = 1;
  pe_quiet(kWorld, nullptr, 0);
}

#if defined(MESHMEM_TARGET_IS_HIP)
// The leader speaks for stores of other waves, which it neither awaits nor writes back.
extern "C" __global__ void planted_release_by_leader_block(Data* data, Word* flag) {
  data[here()] = 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    release_fence();
    store_relaxed(flag, Word{1});
  }
}
// The flag may overtake the other waves' data.
extern "C" __global__ void planted_release_without_barrier_block(Data* data, Word* flag) {
  data[here()] = 1;
  release_fence();
  if (threadIdx.x == 0) store_relaxed(flag, Word{1});
}
// The flag may overtake the data.
extern "C" __global__ void planted_release_missing_thread(Data* data, const Word* other,
                                                          Word* flag) {
  *data = 1;
  if (is_drained(other)) store_relaxed(flag, Word{1});
}
// Written back no further than the device's own cache.
extern "C" __global__ void planted_release_of_device_scope_thread(Data* data, Word* flag) {
  *data = 1;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
  store_relaxed(flag, Word{1});
}
// Coherent within the device only.
extern "C" __global__ void planted_acquire_of_device_scope_thread(Result* result, const Word* data,
                                                                  const Word* flag) {
  while (wrong::load_relaxed(flag) != 1) pause();
  acquire_fence();
  use(Thread(), result, data);
}
// Other waves go on with what their caches held.
extern "C" __global__ void planted_acquire_by_leader_block(Result* result, const Word* data,
                                                           const Word* flag) {
  if (threadIdx.x == 0) {
    while (load_relaxed(flag) != 1) pause();
    acquire_fence();
  }
  __syncthreads();
  use(Block(), result, data);
}
// What the caches held before the flag was seen.
extern "C" __global__ void planted_acquire_missing_thread(Result* result, const Word* data,
                                                          const Word* flag) {
  while (load_relaxed(flag) != 1) pause();
  use(Thread(), result, data);
}
// Left to the end of the kernel.
extern "C" __global__ void planted_end_missing_thread(Data* data) { *data = 1; }
// Read as if it were constant.
extern "C" __global__ void planted_get_by_scalar_thread(Word* to, const Word* there) {
  acquire_fence();
  *to = wrong::load_of_get(there);
}
extern "C" __global__ void planted_get_missing_block(Word* to, const Word* there) {
  to[here()] = load_of_get(there + here());
}
// Acquired whatever the test has found, but before it.
extern "C" __global__ void planted_test_missing_thread(Result* result, const Word* data,
                                                       Word* ivar) {
  acquire_fence();
  if (wrong::test(ivar)) use(Thread(), result, data);
}
// What it waited for is never acquired, for whoever comes after it.
extern "C" __global__ void planted_acquire_at_end_thread(const Word* flag) {
  while (load_relaxed(flag) != 1) pause();
}
// What earlier kernels have stored may come after it.
extern "C" __global__ void planted_stream_missing_thread(Word* flag) {
  store_relaxed(flag, Word{1});
}
// Others may send before the packets here are wiped.
extern "C" __global__ void planted_release_wiping_block(Word* flag) {
  const TeamSync sync(0);
  Block().sync();
  wipe_packets(sync, threadIdx.x);
  Block().sync();
  if (threadIdx.x == 0) store_relaxed(flag, Word{1});
}
// The flag may come without the data.
extern "C" __global__ void planted_send_by_parts_thread(Bits128* to, Word data, Word epoch) {
  wrong::in_parts::store_pair(to, line_of(data, epoch));
}
// The same, of the half that has no flag.
extern "C" __global__ void planted_send_one_flag_thread(Bits128* to, Word data, Word epoch) {
  store_pair(to, Bits128{{data, epoch << 32 | (data & 0xffffffff)}});
}
// Its data may be another operation's.
extern "C" __global__ void planted_receive_one_flag_thread(Word* to, const Bits128* from,
                                                           Word epoch) {
  Bits128 line = load_pair(from);
  while (line.word[0] >> 32 != (epoch & 0xffffffff)) {
    pause();
    line = load_pair(from);
  }
  *to = data_of(line);
}
// A flag that comes later is never seen.
extern "C" __global__ void planted_receive_once_thread(Word* to, const Bits128* from, Word epoch) {
  const Bits128 line = load_pair(from);
  while (!has_come(line, epoch)) pause();
  *to = data_of(line);
}
// The data may be older than the flag.
extern "C" __global__ void planted_receive_by_parts_thread(Word* to, const Bits128* from,
                                                           Word epoch) {
  Bits128 line = wrong::in_parts::load_pair(from);
  while (!has_come(line, epoch)) {
    pause();
    line = wrong::in_parts::load_pair(from);
  }
  *to = data_of(line);
}
// Seen within the device only.
extern "C" __global__ void planted_packets_of_device_scope_thread(Bits128* to, Word data,
                                                                  Word epoch) {
  wrong::store_pair(to, line_of(data, epoch));
}
#endif
