// SPDX-License-Identifier: Apache-2.0
//
// Kernels that are compiled to assembly and read by instructions.py, never run: each wraps one
// routine of device/ that synchronizes, with the stores before it and the loads after it that it is
// there for.
// Invariant: a name says which rules the kernel is held to and who calls: <release|acquire|both|get|
// test>_<routine>_<thread|wave|block>. Those called planted_* break a rule, each another one. So that
// the script can tell them from flags, data that is stored has 1 or 16 bytes or is stored by a
// function that is called, and what is made of data that was loaded has 2.
#include <hip/hip_runtime.h>

#include "device/routines.hpp"

namespace {

using namespace meshmem::device;
using Word = std::uint64_t;
using Data = unsigned char;
using Result = std::uint16_t;
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

}  // namespace

#define PROBES_OF(Group, group)                                                                    \
  extern "C" __global__ void release_put_signal_##group(Word* dest, const Word* source, Word* sig, \
                                                        int pe) {                                  \
    put_signal<Word>(Group(), WorldPes(), dest, source, kMany, sig, 1, SHMEM_SIGNAL_SET, pe);      \
  }                                                                                                \
  extern "C" __global__ void release_put_signal_add_##group(Word* dest, const Word* source,        \
                                                            Word* sig, int pe) {                   \
    put_signal<Word>(Group(), WorldPes(), dest, source, kMany, sig, 1, SHMEM_SIGNAL_ADD, pe);      \
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
  extern "C" __global__ void get_get_##group(Word* dest, const Word* source, int pe) {             \
    get<Word>(Group(), WorldPes(), dest, source, 1, pe);                                           \
  }                                                                                                \
  extern "C" __global__ void get_iget_##group(Word* dest, const Word* source, int pe) {            \
    iget<Word>(Group(), WorldPes(), dest, source, 1, 1, 1, pe);                                    \
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
  put_signal<Word>(Block(), WorldPes(), dest, source, kFew, sig, 1, SHMEM_SIGNAL_SET, pe);
}
extern "C" __global__ void release_ring_step_block(Data* to, Data* also, const Data* in,
                                                   const Data* own, std::size_t n) {
  combine_run<ReduceOp::sum>(Block(), to, also, in, own, n, 1);
  announce(Block(), TeamSync(0, 1), 2, 3, 4);
}
extern "C" __global__ void get_g_thread(Word* to, const Word* source, int pe) {
  *to = g(Thread(), WorldPes(), source, pe);
}
extern "C" __global__ void get_copy_thread(Word* to, const Word* there) {
  before_get();
  copy<OthersSource>(Thread(), to, there, sizeof *to);
}
extern "C" __global__ void acquire_signal_fetch_thread(Result* result, const Word* data,
                                                       const Word* sig) {
  if (signal_fetch(sig) == 1) use(Thread(), result, data);
}
extern "C" __global__ void test_test_thread(Word* result, Word* ivar) {
  *result = test(ivar, SHMEM_CMP_EQ, Word{1});
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
extern "C" __global__ void planted_release_missing_thread(Data* data, Word* flag) {
  *data = 1;
  store_relaxed(flag, Word{1});
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
  while (__hip_atomic_load(flag, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) != 1) pause();
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
  *to = *there;
}
extern "C" __global__ void planted_get_missing_block(Word* to, const Word* there) {
  to[here()] = there[here()];
}
#endif
