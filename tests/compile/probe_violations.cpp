// SPDX-License-Identifier: Apache-2.0
//
// Kernels for instructions.py to complain of, never run: each breaks a rule, another one, by a verb
// of device/memory.hpp that it misuses or a wrong one of the same name.
// Invariant: planted_<word>_<what is wrong>_<thread|wave|block>, as in probe_kernels.cpp.
#include "tests/compile/probe.hpp"

#if defined(MESHMEM_TARGET_IS_HIP)
namespace {

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
MESHMEM_DEVICE void await_by_waves(const Word* flag) {
  if (Wave().rank() == 0)
    while (meshmem::device::load_relaxed(flag) == 0) pause();
  Wave().sync();
}

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

}  // namespace

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
// Other waves go on with the old contents of their caches.
extern "C" __global__ void planted_acquire_by_leader_block(Result* result, const Word* data,
                                                           const Word* flag) {
  if (threadIdx.x == 0) {
    while (load_relaxed(flag) != 1) pause();
    acquire_fence();
  }
  __syncthreads();
  use(Block(), result, data);
}
// A wave that goes on by itself has to acquire by itself.
extern "C" __global__ void planted_acquire_by_no_wave_block(Result* result, const Word* data,
                                                            const Word* flag) {
  wrong::await_by_waves(flag);
  use(Block(), result, data);
}
// Uses data that the caches held before the flag was seen.
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
// Data that it waited for is never acquired, for whatever runs after it.
extern "C" __global__ void planted_acquire_at_end_thread(const Word* flag) {
  while (load_relaxed(flag) != 1) pause();
}
// Stores of earlier kernels may come after it.
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
