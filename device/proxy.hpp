// SPDX-License-Identifier: Apache-2.0
//
// How kernels reach far PEs: commands in the ring of proxy_ring.hpp, which a thread of the host
// takes out.
// Invariant: a thread that waits here waits for the host alone, never for another thread of a
// kernel, which may not run yet. So neither a full ring nor a device full of kernels can cause a
// deadlock. All of it is out of line: near PEs never come here.
#ifndef MESHMEM_DEVICE_PROXY_HPP_
#define MESHMEM_DEVICE_PROXY_HPP_

#include "device/group.hpp"
#include "device/module.hpp"
#include "device/operations.hpp"
#include "device/packets.hpp"
#include "device/poll.hpp"

// A command's ticket is its number. A thread waits until the host has consumed the command, so that
// a put's source is free again; until the command is completed, as in quiet; or for a result.
// Results have numbers of their own, since a result is kept until it has been read and a
// slot is not. The lanes of a wave that come together take their numbers by one addition. They may
// wait only for numbers before those of their own wave: a ring has many more slots than a wave has
// lanes.

namespace meshmem {
namespace device {

MESHMEM_DEVICE bool has_proxy() { return state().proxy.slots != nullptr; }

// The next number of a counter in memory of the device.
#if defined(MESHMEM_TARGET_IS_CPU)
inline std::uint64_t take_number(std::uint64_t* counter) {
  return fetch_add(counter, std::uint64_t{1});
}
#else
MESHMEM_DEVICE std::uint64_t take_number(std::uint64_t* counter) {
  const int lane = Wave().rank();
#if defined(MESHMEM_TARGET_IS_CUDA)
  const std::uint64_t lanes = __activemask();
#else
  const std::uint64_t lanes = __ballot(1);
#endif
  const int leader = __ffsll(static_cast<long long>(lanes)) - 1;
  std::uint64_t first = 0;
  if (lane == leader) first = fetch_add(counter, static_cast<std::uint64_t>(__popcll(lanes)));
#if defined(MESHMEM_TARGET_IS_CUDA)
  first = __shfl_sync(static_cast<unsigned>(lanes), first, leader);
#else
  first = static_cast<std::uint64_t>(__shfl(static_cast<long long>(first), leader));
#endif
  const std::uint64_t before = (std::uint64_t{1} << lane) - 1;
  return first + static_cast<std::uint64_t>(__popcll(lanes & before));
}
#endif

// Where the calling wave notes its last ticket. It may share this with other waves; then it waits
// for their commands too.
MESHMEM_DEVICE std::uint64_t* last_of_my_wave(const ProxyRing& ring) {
  const auto waves = static_cast<unsigned>((threads_of_block() + wave_size() - 1) / wave_size());
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned place = block * waves + static_cast<unsigned>(thread_in_block() / wave_size());
  return ring.last_of_caller + (place & (ring.n_callers - 1));
}

// Waits until the host's counter `said` has reached `count`. `known` is its last known value, which
// saves reads over the bus.
MESHMEM_DEVICE void await_host(const std::uint64_t* said, std::uint64_t* known,
                               std::uint64_t count) {
  if (load_relaxed(known) >= count) return;
  std::uint64_t now = 0;
  pause_until(
      [&] {
        now = load_relaxed(said);
        return now >= count;
      },
      [=] { return said; });
  acquire_fence();  // acquires the host's writes before it stored `said`
  release_fence();  // passes them on to threads that read `known` alone
  raise_to(known, now);
}
MESHMEM_DEVICE void await_consumed(const ProxyRing& ring, std::uint64_t count) {
  await_host(&ring.progress->consumed, ring.known_consumed, count);
}
MESHMEM_DEVICE void await_completed(const ProxyRing& ring, std::uint64_t count) {
  await_host(&ring.progress->completed, ring.known_completed, count);
}

// A thread's place in the ring. A thread that has a ticket fills its slot; before that it may load
// the command's data from memory.
struct ProxyPlace {
  std::uint64_t ticket;
  std::uint64_t known_consumed;
};
MESHMEM_DEVICE ProxyPlace take_place(const ProxyRing& ring) {
  const std::uint64_t known = load_relaxed(ring.known_consumed);  // overlaps with take_number()
  return {take_number(ring.head), known};
}
MESHMEM_DEVICE void fill_slot(const ProxyRing& ring, ProxyPlace place,
                              const ProxyCommand& command) {
  raise_to(last_of_my_wave(ring), place.ticket + 1);
  if (place.ticket >= place.known_consumed + ring.n_slots)
    await_consumed(ring, place.ticket - ring.n_slots + 1);
  const ProxySlot slot = slot_of_command(command, phase_of(place.ticket, ring.n_slots));
  std::uint64_t* const there = ring.slots[place.ticket & (ring.n_slots - 1)].word;
#pragma unroll
  for (int i = 0; i < ProxySlot::kWords; ++i) store_relaxed(there + i, slot.word[i]);
}

// Puts a command into the ring and returns its ticket. The caller has released the memory that the
// host shall read.
MESHMEM_DEVICE_COLD std::uint64_t post(const ProxyCommand& command) {
  const ProxyRing& ring = state().proxy;
  const ProxyPlace place = take_place(ring);
  fill_slot(ring, place, command);
  return place.ticket;
}

MESHMEM_DEVICE ProxyCommand command_for(ProxyOp op, int pe) {
  return {op, 0, 0, static_cast<std::uint32_t>(pe), {}};
}
MESHMEM_DEVICE std::uint64_t number_of(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

// Posts a command that takes `bytes` bytes of data along, from word kFirst on. Whole words of
// data are loaded, perhaps from host memory, while the ticket is taken.
template <unsigned kFirst>
MESHMEM_DEVICE_COLD void post_with(const ProxyCommand& plain, const std::byte* data,
                                   std::size_t bytes) {
  constexpr unsigned kMost = ProxyCommand::kWords - kFirst;
  const ProxyRing& ring = state().proxy;
  ProxyCommand command = plain;
  command.length = static_cast<std::uint8_t>(bytes);
  if (is_multiple(data, bytes, kLineData)) {
#pragma unroll
    for (unsigned u = 0; u < kMost; ++u) {
      if (u * kLineData < bytes)
        command.word[kFirst + u] = load_plain(reinterpret_cast<const std::uint64_t*>(data) + u);
    }
  } else {
    for (unsigned u = 0; u * kLineData < bytes; ++u)
      command.word[kFirst + u] = load_word(data, bytes, u);
  }
  fill_slot(ring, take_place(ring), command);
}

// ---- Results

// Takes a number for a result, whose place is free when this returns. The thread that had the place
// before waits only for the host, so the place becomes free.
MESHMEM_DEVICE std::uint64_t ask_for_result(const ProxyRing& ring) {
  const std::uint64_t number = take_number(ring.next_result), place = number & (ring.n_results - 1);
  const std::uint64_t* turn = ring.result_turn + place;
  pause_until([=] { return load_relaxed(turn) == number - place; }, [=] { return turn; });
  acquire_fence();  // the thread that had the place before has read its result
  return number;
}
MESHMEM_DEVICE std::uint64_t await_result(const ProxyRing& ring, std::uint64_t number) {
  const std::uint64_t place = number & (ring.n_results - 1);
  const ProxyResult* result = ring.results + place;
  pause_until([=] { return load_relaxed(&result->number) == number + 1; }, [=] { return result; });
  acquire_fence();  // acquires the value, which the host wrote before the number
  const std::uint64_t value = load_relaxed(&result->value);
  release_fence();  // the value has been read before another thread may use the place
  store_relaxed(ring.result_turn + place, number - place + ring.n_results);
  return value;
}
MESHMEM_DEVICE std::uint64_t post_and_await_result(ProxyCommand& command, int word_of_number) {
  const ProxyRing& ring = state().proxy;
  const std::uint64_t number = ask_for_result(ring);
  command.word[word_of_number] = number;
  post(command);
  return await_result(ring, number);
}

// ---- The operations, by one thread

MESHMEM_DEVICE_COLD std::uint64_t far_load(const void* source, std::size_t bytes, int pe) {
  ProxyCommand command = command_for(ProxyOp::load, pe);
  command.length = static_cast<std::uint8_t>(bytes);
  command.word[0] = number_of(source);
  return post_and_await_result(command, 1);
}

MESHMEM_DEVICE void far_store(void* dest, const std::byte* source, std::size_t bytes, int pe) {
  ProxyCommand command = command_for(ProxyOp::put_inline, pe);
  command.word[0] = number_of(dest);
  post_with<1>(command, source, bytes);
}

MESHMEM_DEVICE_COLD void far_store_value(void* dest, std::uint64_t value, std::size_t bytes,
                                         int pe) {
  ProxyCommand command = command_for(ProxyOp::put_inline, pe);
  command.length = static_cast<std::uint8_t>(bytes);
  command.word[0] = number_of(dest);
  command.word[1] = value;
  post(command);
}

// Posts as many commands as it takes, each with its data.
MESHMEM_DEVICE void far_store_all(std::byte* dest, const std::byte* source, std::size_t bytes,
                                  int pe) {
  for (std::size_t at = 0; at < bytes; at += ProxyCommand::kMostInline) {
    const std::size_t left = bytes - at;
    far_store(dest + at, source + at,
              left < ProxyCommand::kMostInline ? left : ProxyCommand::kMostInline, pe);
  }
}

// waits: until the source may be used again, which is at once if the data travels in the slot.
MESHMEM_DEVICE_COLD void far_put(void* dest, const void* source, std::size_t bytes, int pe,
                                 bool waits) {
  const auto* from = static_cast<const std::byte*>(source);
  if (bytes <= ProxyCommand::kMostInline || !host_reaches(source))
    return far_store_all(static_cast<std::byte*>(dest), from, bytes, pe);
  ProxyCommand command = command_for(ProxyOp::put, pe);
  command.word[0] = number_of(dest);
  command.word[1] = number_of(source);
  command.word[2] = bytes;
  release_fence();  // publishes the source to the host
  const std::uint64_t ticket = post(command);
  if (waits) await_consumed(state().proxy, ticket + 1);
}

// Loads word by word, each by a command whose answer is a result.
MESHMEM_DEVICE void far_load_all(std::byte* dest, const std::byte* source, std::size_t bytes,
                                 int pe) {
  for (unsigned u = 0; u * kLineData < bytes; ++u) {
    const std::size_t left = bytes - u * kLineData;
    store_word(dest, bytes, u,
               far_load(source + u * kLineData, left < kLineData ? left : kLineData, pe));
  }
}

MESHMEM_DEVICE_COLD void far_get(void* dest, const void* source, std::size_t bytes, int pe) {
  auto* to = static_cast<std::byte*>(dest);
  if (bytes <= kLineData || !host_reaches(dest))
    return far_load_all(to, static_cast<const std::byte*>(source), bytes, pe);
  ProxyCommand command = command_for(ProxyOp::get, pe);
  command.word[0] = number_of(dest);
  command.word[1] = number_of(source);
  command.word[2] = bytes;
  release_fence();  // no earlier store to dest comes after the host's writes there
  await_completed(state().proxy, post(command) + 1);
  acquire_fence();  // acquires the host's writes
}

// Blocks at strides, all in bytes.
struct FarBlocks {
  std::ptrdiff_t dest_stride, source_stride;
  std::size_t bytes, count;
};
MESHMEM_DEVICE ProxyCommand blocks_command(ProxyOp op, void* dest, const void* source,
                                           const FarBlocks& blocks, int pe) {
  ProxyCommand command = command_for(op, pe);
  command.word[0] = number_of(dest);
  command.word[1] = number_of(source);
  command.word[2] = static_cast<std::uint64_t>(blocks.dest_stride);
  command.word[3] = static_cast<std::uint64_t>(blocks.source_stride);
  command.word[4] = blocks.bytes;
  command.word[5] = blocks.count;
  return command;
}
MESHMEM_DEVICE_COLD void far_put_blocks(void* dest, const void* source, const FarBlocks& blocks,
                                        int pe) {
  if (host_reaches(source)) {
    release_fence();  // publishes the source to the host
    const std::uint64_t ticket =
        post(blocks_command(ProxyOp::put_blocks, dest, source, blocks, pe));
    return await_consumed(state().proxy, ticket + 1);
  }
  auto* to = static_cast<std::byte*>(dest);
  const auto* from = static_cast<const std::byte*>(source);
  for (std::size_t i = 0; i < blocks.count; ++i) {
    far_store_all(to, from, blocks.bytes, pe);
    to += blocks.dest_stride;
    from += blocks.source_stride;
  }
}
MESHMEM_DEVICE_COLD void far_get_blocks(void* dest, const void* source, const FarBlocks& blocks,
                                        int pe) {
  if (host_reaches(dest)) {
    release_fence();  // no earlier store to dest comes after the host's writes there
    const std::uint64_t ticket =
        post(blocks_command(ProxyOp::get_blocks, dest, source, blocks, pe));
    await_completed(state().proxy, ticket + 1);
    return acquire_fence();  // acquires the host's writes
  }
  auto* to = static_cast<std::byte*>(dest);
  const auto* from = static_cast<const std::byte*>(source);
  for (std::size_t i = 0; i < blocks.count; ++i) {
    far_load_all(to, from, blocks.bytes, pe);
    to += blocks.dest_stride;
    from += blocks.source_stride;
  }
}

// Returns the value before if `fetches`, else 0.
MESHMEM_DEVICE_COLD std::uint64_t far_atomic(AtomicOp op, const void* address, std::size_t bytes,
                                             std::uint64_t operand, std::uint64_t condition,
                                             bool fetches, int pe) {
  ProxyCommand command = command_for(fetches ? ProxyOp::fetch : ProxyOp::atomic, pe);
  command.length = static_cast<std::uint8_t>(bytes);
  command.detail = static_cast<std::uint8_t>(op);
  command.word[0] = number_of(address);
  command.word[1] = operand;
  command.word[2] = condition;
  if (fetches) return post_and_await_result(command, 3);
  post(command);
  return 0;
}

MESHMEM_DEVICE ProxyCommand signal_command(ProxyOp op, const std::uint64_t* signal,
                                           std::uint64_t value, int sig_op, int pe) {
  ProxyCommand command = command_for(op, pe);
  command.detail = static_cast<std::uint8_t>(sig_op);
  command.word[0] = number_of(signal);
  command.word[1] = value;
  return command;
}
MESHMEM_DEVICE_COLD void far_signal(const std::uint64_t* signal, std::uint64_t value, int sig_op,
                                    int pe) {
  release_fence();  // near stores come first, as with a near signal
  post(signal_command(ProxyOp::signal, signal, value, sig_op, pe));
}

// One command and one message, except for longer data that the host cannot read.
MESHMEM_DEVICE_COLD void far_put_signal(void* dest, const void* source, std::size_t bytes,
                                        const std::uint64_t* signal, std::uint64_t value,
                                        int sig_op, int pe, bool waits) {
  const auto* from = static_cast<const std::byte*>(source);
  ProxyCommand command = signal_command(ProxyOp::put_signal, signal, value, sig_op, pe);
  command.word[2] = number_of(dest);
  if (bytes <= ProxyCommand::kMostInlineWithSignal) {
    command.op = ProxyOp::put_signal_inline;
    return post_with<3>(command, from, bytes);
  }
  if (!host_reaches(source)) {
    far_store_all(static_cast<std::byte*>(dest), from, bytes, pe);
    post(command_for(ProxyOp::fence, pe));
    return far_signal(signal, value, sig_op, pe);
  }
  command.word[3] = number_of(source);
  command.word[4] = bytes;
  release_fence();  // publishes the source to the host
  const std::uint64_t ticket = post(command);
  if (waits) await_consumed(state().proxy, ticket + 1);
}

// ---- By groups

// The leader calls act(). The group has released its stores before, and has acquired afterwards
// what the leader acquired in act().
template <typename Group, typename Act>
MESHMEM_DEVICE void by_leader(const Group& group, const Act& act) {
  release_all(group);
  if (group.rank() == 0) act();
  acquire_all(group);
}

// Whether commands of the calling wave may not be done yet.
MESHMEM_DEVICE bool has_far_work(const ProxyRing& ring, std::uint64_t last) {
  return last > load_relaxed(ring.known_completed);
}
MESHMEM_DEVICE_COLD void quiet_far() {
  const ProxyRing& ring = state().proxy;
  await_completed(ring, load_relaxed(last_of_my_wave(ring)));
}
MESHMEM_DEVICE_COLD void fence_far() {
  const ProxyRing& ring = state().proxy;
  if (!has_far_work(ring, load_relaxed(last_of_my_wave(ring)))) return;
  release_fence();  // near stores come first
  post(command_for(ProxyOp::fence, state().me));
}
// True in one thread of each wave, when all lanes have posted their commands. Where lanes may
// diverge they meet first; on AMD GPUs they run in step.
template <typename Group>
MESHMEM_DEVICE bool speaks_for_wave(const Group&) {
#if !defined(MESHMEM_TARGET_IS_HIP)
  Wave().sync();
#endif
  return Wave().rank() == 0;
}
MESHMEM_DEVICE bool speaks_for_wave(const Thread&) { return true; }

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_PROXY_HPP_
