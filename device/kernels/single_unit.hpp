// SPDX-License-Identifier: Apache-2.0
//
// Kernels that reduce in one hop (collectives/one_shot.hpp), for so little data that each thread
// has one unit. Called by reductions_of_type.hpp. Other files' kernels use SingleHop and the
// functions before these kernels.
// Invariant: source is as the work before the kernel left it, and nobody looks at dest before the
// kernel's end. So the threads meet only once, before one of them counts the operation.
#ifndef MESHMEM_DEVICE_KERNELS_SINGLE_UNIT_HPP_
#define MESHMEM_DEVICE_KERNELS_SINGLE_UNIT_HPP_

#include "device/collectives/one_shot.hpp"
#include "device/collectives/slices.hpp"
#include "device/kernels/launch_kernel.hpp"

// A small sum takes little more than the time until its packets leave and the others' arrive. So a
// kernel computes values that depend on no memory before the earlier work has ended. Then it asks
// for source and for the epoch at the same time. The code is short, since the kernel waits for
// instructions that are not in the cache.

namespace meshmem {
namespace device {

// Whether these slices can be reduced this way, by blocks of `threads` threads. All PEs come to the
// same answer.
template <typename E>
bool fits_single_unit(const TeamHandle& team, const Slices& slices, int threads) {
  const std::size_t units = units_of<E>(slices.longest<E>());
  return team.has_all_slabs() && units <= static_cast<std::size_t>(threads) &&
         units * kLineBytes <= team.space.packet_row;
}

// The rows of packets, or those of wide lines, in a channel's space (ChannelSpace).
struct RowsOfChannel {
  std::size_t begin, row_bytes;

  static RowsOfChannel packets(const ChannelSpace& space) {
    return {space.packets, space.packet_row};
  }
  static RowsOfChannel wide_lines(const ChannelSpace& space) {
    return {space.wide, space.wide_row};
  }
};

// The host computes this for a kernel: the slices, where each PE's lines arrive, and where this
// PE's lines go. Kernels of two hops use it, too.
struct SingleHop {
  unsigned count, each, longer;     // as in Slices
  std::size_t flag_step, row_step;  // bytes from one channel's to the next one's
  std::size_t parity_step;          // bytes from the rows of even epochs to those of odd ones
  std::byte* flags;                 // of channel 0, of this PE
  std::byte* from[kNearMembers];    // where lines from each PE arrive
  std::byte* to[kNearMembers];      // where a line goes in PE me + 1, me + 2, ...

  // The most bytes of a job, since slice() computes with 32 bits. A multiple of the grain, so that
  // the end of the last slice, rounded up to whole grains, does not exceed it.
  static constexpr std::size_t kMostBytes = 0xfffffff0;
  static_assert(kMostBytes % Slices::grain<std::byte>() == 0);

  SingleHop(const TeamHandle& handle, const Slices& slices, const RowsOfChannel& rows)
      : count(static_cast<unsigned>(slices.count)),
        each(static_cast<unsigned>(slices.each)),
        longer(static_cast<unsigned>(slices.longer)),
        flag_step(handle.space.channel_after(1).flags - handle.space.flags),
        row_step(handle.space.rows() * rows.row_bytes),
        parity_step(handle.space.senders * rows.row_bytes),
        flags(handle.slab[handle.team.me] + handle.space.flags),
        from{},
        to{} {
    const int me = handle.team.me, n = handle.team.n;
    const auto row = [&](int receiver, int sender) {
      return handle.slab[receiver] + rows.begin + static_cast<std::size_t>(sender) * rows.row_bytes;
    };
    for (int pe = 0; pe < n; ++pe) from[pe] = row(me, pe);
    for (int i = 1; i < n; ++i) to[i - 1] = row((me + i) % n, me);
  }

  // The slice that block `channel` reduces; this needs no memory.
  template <typename E>
  MESHMEM_DEVICE_MEMBER Slice slice(unsigned channel) const {
    constexpr auto kGrain = static_cast<unsigned>(Slices::grain<E>());
    const auto at_most = [](unsigned i, unsigned most) { return i < most ? i : most; };
    const unsigned first = (each * channel + at_most(channel, longer)) * kGrain;
    const unsigned end = first + (each + (channel < longer ? 1 : 0)) * kGrain;
    return {first, at_most(end, count) - at_most(first, count)};
  }
  MESHMEM_DEVICE_MEMBER std::uint64_t* counter(unsigned channel) const {
    return reinterpret_cast<std::uint64_t*>(flags + channel * flag_step);
  }
  // Sends the same words to all other PEs.
  MESHMEM_DEVICE_MEMBER void send(const Bits128& words, std::size_t at, int n) const {
#pragma unroll
    for (int i = 1; i < kNearMembers; ++i) {
      if (i < n) store_pair(reinterpret_cast<Bits128*>(to[i - 1] + at), words);
    }
  }
  // Loads once the words that now lie there from each awaited PE.
  template <typename IsAwaited>
  MESHMEM_DEVICE_MEMBER void look(Bits128 (&words)[kNearMembers], std::size_t at,
                                  const IsAwaited& is_awaited) const {
#pragma unroll
    for (int pe = 0; pe < kNearMembers; ++pe) {
      if (is_awaited(pe)) words[pe] = load_pair(reinterpret_cast<const Bits128*>(from[pe] + at));
    }
  }
};

// The PE that is i after this one.
MESHMEM_DEVICE int peer_in(const TeamView& team, int i) {
  const int pe = team.me + i;
  return pe < team.n ? pe : pe - team.n;
}

// A kernel may let the next one in as soon as all data has come. With one block, or with at least
// this many, that gains 2 to 3 %. With a number between it loses as much, since the next kernel's
// blocks come to other multiprocessors (measured on an H200, which has 132).
constexpr unsigned kBlocksAllowingNextKernel = 96;

// A function of its own, so that the usual path is short.
MESHMEM_DEVICE_APART std::uint64_t next_single_hop_epoch_after_wiping(const TeamHandle& handle,
                                                                      std::uint64_t epoch) {
  return epoch_after_wiping(Block(), TeamSync(handle, static_cast<int>(blockIdx.x)), epoch);
}

// Returns the number of the operation that a block begins.
MESHMEM_DEVICE std::uint64_t next_single_hop_epoch(const TeamHandle& handle,
                                                   const std::uint64_t* counter) {
  const std::uint64_t epoch = load_relaxed(counter) + 1;
  return needs_wiping(epoch) ? next_single_hop_epoch_after_wiping(handle, epoch) : epoch;
}

// Called when this kernel waits for no other PE any more.
MESHMEM_DEVICE void allow_next_kernel_if_it_pays() {
  if (gridDim.x == 1 || gridDim.x >= kBlocksAllowingNextKernel) allow_next_kernel();
}

// Receives a packet line from each other PE into line[pe]. `mine` may be any line with the epoch:
// it fills the other elements, so that has_come() is true of them.
MESHMEM_DEVICE void receive_units(const SingleHop& job, std::size_t at, const TeamView& team,
                                  const Bits128& mine, std::uint64_t epoch,
                                  Bits128 (&line)[kNearMembers]) {
#pragma unroll
  for (Bits128& one : line) one = mine;
  for (bool all = false; !all;) {
    job.look(line, at, [&](int pe) { return pe < team.n && pe != team.me; });
    all = true;
#pragma unroll
    for (const Bits128& one : line) all = all && has_come(one, epoch);
    if (!all)
      pause_for([&] {
        int pe = 0;
        while (pe + 1 < team.n && has_come(line[pe], epoch)) ++pe;
        return job.from[pe] + at;
      });
  }
  has_waited();
}

// The units of all PEs, in PE order; `mine` is the packet line that this PE has sent. scatters:
// unused; it makes one function for each kernel, so that the compiler inlines it into all of them.
template <bool scatters, typename Op, typename E>
MESHMEM_DEVICE UnitTotal<E> receive_single_unit(const Op& op, const SingleHop& job, std::size_t at,
                                                const TeamView& team, const Bits128& mine,
                                                std::uint64_t epoch) {
  Bits128 line[kNearMembers];
  receive_units(job, at, team, mine, epoch, line);
  UnitTotal<E> total;
  begin_total(total, bit_cast<EightBytes<E>>(data_of(line[0])));
#pragma unroll
  for (int pe = 1; pe < kNearMembers; ++pe)
    if (pe < team.n) combine_into(op, total, bit_cast<EightBytes<E>>(data_of(line[pe])));
  return total;
}

template <typename Op, typename E>
__global__ void __launch_bounds__(kThreads)
    reduce_single_unit_kernel(const MESHMEM_GRID_CONSTANT TeamHandle handle,
                              const MESHMEM_GRID_CONSTANT SingleHop job, E* dest, const E* source,
                              Op op) {
  const unsigned channel = blockIdx.x, u = threadIdx.x;
  const int n = handle.team.n;
  const Slice slice = job.slice<E>(channel);
  const bool has_unit = u < units_of<E>(slice.count);
  std::uint64_t* const counter = job.counter(channel);
  std::size_t at = channel * job.row_step + u * kLineBytes;

  after_earlier_kernels();
  EightBytes<E> own{};
  if (has_unit) own = load_unit(source + slice.first, slice.count, u);
  const std::uint64_t epoch = next_single_hop_epoch(handle, counter);
  if (epoch % 2 != 0) at += job.parity_step;
  const Bits128 mine = line_of(bit_cast<std::uint64_t>(own), epoch);
  if (has_unit) job.send(mine, at, n);
  __syncthreads();
  if (u == 0) *counter = epoch;
  if (!has_unit) return;
  const UnitTotal<E> total =
      receive_single_unit<false, Op, E>(op, job, at, handle.team, mine, epoch);
  allow_next_kernel_if_it_pays();
  store_unit(dest + slice.first, slice.count, u, finished(op, total, n));
}

// A reduce-scatter: the source has a block for each PE, `spacing` elements after the block for the
// PE before.
template <typename Op, typename E>
__global__ void __launch_bounds__(kThreads)
    scatter_single_unit_kernel(const MESHMEM_GRID_CONSTANT TeamHandle handle,
                               const MESHMEM_GRID_CONSTANT SingleHop job, E* dest, const E* source,
                               std::size_t spacing, Op op) {
  const unsigned channel = blockIdx.x, u = threadIdx.x;
  const int n = handle.team.n;
  const Slice slice = job.slice<E>(channel);
  const bool has_unit = u < units_of<E>(slice.count);
  std::uint64_t* const counter = job.counter(channel);
  std::size_t at = channel * job.row_step + u * kLineBytes;
  const E* const mine = source + slice.first;

  after_earlier_kernels();
  std::uint64_t data[kNearMembers] = {};  // [i]: for the PE i after this one
  if (has_unit) {
#pragma unroll
    for (int i = 0; i < kNearMembers; ++i) {
      const auto pe = static_cast<std::size_t>(peer_in(handle.team, i));
      if (i < n) data[i] = bit_cast<std::uint64_t>(load_unit(mine + pe * spacing, slice.count, u));
    }
  }
  const std::uint64_t epoch = next_single_hop_epoch(handle, counter);
  if (epoch % 2 != 0) at += job.parity_step;
  if (has_unit) {
#pragma unroll
    for (int i = 1; i < kNearMembers; ++i)
      if (i < n) send_line(reinterpret_cast<Bits128*>(job.to[i - 1] + at), data[i], epoch);
  }
  __syncthreads();
  if (u == 0) *counter = epoch;
  if (!has_unit) return;
  const UnitTotal<E> total =
      receive_single_unit<true, Op, E>(op, job, at, handle.team, line_of(data[0], epoch), epoch);
  allow_next_kernel_if_it_pays();
  store_unit(dest + slice.first, slice.count, u, finished(op, total, n));
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_KERNELS_SINGLE_UNIT_HPP_
