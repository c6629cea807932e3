// SPDX-License-Identifier: Apache-2.0
//
// Puts of packets: messages of any length and alignment go around a ring of PEs, by each group,
// with and without a context, and tags that wrap.
// Invariant: a PE fills the place of a message only when the next PE has said that it took out the
// message before the last one. A byte that comes too early, too late, or beside its place is
// counted.
#include <algorithm>

#include "reversed_context.hpp"

namespace meshmem {
namespace {

constexpr size_t kMost = 4099;        // bytes of a message
constexpr size_t kRoom = kMost + 64;  // for one that begins anywhere
constexpr unsigned char kUntouched = 0xee;

__device__ size_t length_of(uint64_t round) {
  constexpr size_t kLengths[] = {8, 1, 64, 3, 0, 7, 9, 16, 31, 2, 520, 4, 100, 12, kMost, 6};
  return kLengths[round % (sizeof kLengths / sizeof kLengths[0])];
}
__device__ unsigned char byte_of(uint64_t round, int pe, size_t i) {
  return static_cast<unsigned char>(round * 31 + static_cast<uint64_t>(pe) * 7 + i * 3);
}
__device__ uint32_t tag_of(uint32_t first, uint64_t round) {  // counts up, and leaves out 0
  const auto tag = static_cast<uint32_t>(first + round);
  return tag < first ? tag + 1 : tag;
}

__device__ void put_packets(const Call& call, void* packets, const void* source, size_t nbytes,
                            uint32_t tag, int pe) {
  switch (call.form) {
    case Form::kThread:
      return shmemx_put_packets(packets, source, nbytes, tag, pe);
    case Form::kWave:
      return shmemx_put_packets_wave(packets, source, nbytes, tag, pe);
    case Form::kBlock:
      return shmemx_put_packets_block(packets, source, nbytes, tag, pe);
    case Form::kThreadCtx:
      return shmemx_ctx_put_packets(call.ctx, packets, source, nbytes, tag, pe);
    case Form::kWaveCtx:
      return shmemx_ctx_put_packets_wave(call.ctx, packets, source, nbytes, tag, pe);
    case Form::kBlockCtx:
      return shmemx_ctx_put_packets_block(call.ctx, packets, source, nbytes, tag, pe);
  }
}
__device__ void wait_packets(Form form, void* dest, const void* packets, size_t nbytes,
                             uint32_t tag) {
  switch (form) {
    case Form::kThread:
    case Form::kThreadCtx:
      return shmemx_wait_packets(dest, packets, nbytes, tag);
    case Form::kWave:
    case Form::kWaveCtx:
      return shmemx_wait_packets_wave(dest, packets, nbytes, tag);
    default:
      return shmemx_wait_packets_block(dest, packets, nbytes, tag);
  }
}

struct Mail {
  unsigned char *packets, *source, *dest;
  uint64_t* taken;
};

__global__ void ring_kernel(Call sender, Form receiver, Mail mail, int next, uint32_t first_tag,
                            int rounds, uint64_t* errors) {
  const int n = shmem_n_pes(), me = shmem_my_pe(), previous = (me + n - 1) % n;
  for (uint64_t round = 1; round <= static_cast<uint64_t>(rounds); ++round) {
    const size_t nbytes = length_of(round), from = round % 9, to = round * 5 % 23;
    unsigned char* const packets = mail.packets + round % 2 * SHMEMX_PACKETS_SIZE(kMost);
    for (size_t i = threadIdx.x; i < kRoom; i += blockDim.x) mail.dest[i] = kUntouched;
    for (size_t i = threadIdx.x; i < nbytes; i += blockDim.x)
      mail.source[from + i] = byte_of(round, me, i);
    if (threadIdx.x == 0 && round > 2) shmem_signal_wait_until(mail.taken, SHMEM_CMP_GE, round - 2);
    __syncthreads();
    const uint32_t tag = tag_of(first_tag, round);
    if (takes_part(sender.form))
      put_packets(sender, packets, mail.source + from, nbytes, tag, next);
    if (takes_part(receiver)) wait_packets(receiver, mail.dest + to, packets, nbytes, tag);
    __syncthreads();
    for (size_t i = threadIdx.x; i < kRoom; i += blockDim.x) {
      const bool inside = i >= to && i - to < nbytes;
      if (mail.dest[i] != (inside ? byte_of(round, previous, i - to) : kUntouched))
        shmem_uint64_atomic_inc(errors, me);
    }
    __syncthreads();
    if (threadIdx.x == 0) shmem_signal_set(mail.taken, round, previous);
  }
}

TEST(DevicePackets, CarryMessagesOfAnyLengthAroundARing) {
  const ReversedContext context;
  uint32_t first_tag = ~uint32_t{0} - 20;  // wraps on the way
  for (size_t k = 0; k < kFormCount; ++k) {
    const Form sender = kForms[k], receiver = kForms[(k + 1) % kFormCount];
    SCOPED_TRACE(std::string(name_of(sender)) + " to " + name_of(receiver));
    DeviceArray<unsigned char> packets(2 * SHMEMX_PACKETS_SIZE(kMost), 0);
    DeviceArray<unsigned char> source(kRoom, 0), dest(kRoom, 0);
    DeviceArray<uint64_t> taken(1, 0), errors(1, 0);
    shmem_barrier_all();
    launch(ring_kernel, 1, odd_block(), context.call(sender), receiver,
           Mail{packets.data(), source.data(), dest.data(), taken.data()},
           context.pe(sender, next_pe()), first_tag, rounds(200), errors.data());
    meet_after_kernels();
    EXPECT_EQ(errors.first(), 0u);
  }
}

}  // namespace
}  // namespace meshmem
