// SPDX-License-Identifier: Apache-2.0
//
// Reductions of so little data that a thread has one unit of it, in one hop (collectives/one_shot.hpp),
// as the whole of a kernel: what a small sum takes is what lies between two arrivals of packets.
// Invariant: source is as the work before the kernel left it, and nobody looks at dest before its end,
// so the threads meet only where one of them counts the operation. What depends on no memory is
// computed before that work has ended; then source and epoch are asked for at the same time, and what
// the others have sent too. The code is short: what is not in the cache of instructions is waited for.
#ifndef MESHMEM_DEVICE_KERNELS_AT_ONCE_HPP_
#define MESHMEM_DEVICE_KERNELS_AT_ONCE_HPP_

#include "device/collectives/one_shot.hpp"
#include "device/collectives/slices.hpp"
#include "device/kernels/launch_kernel.hpp"

namespace meshmem {
namespace device {

// Whether a team's elements in such slices go that way, with so many threads: all PEs agree.
template <typename E>
bool goes_at_once(const TeamPlace& team, const Slices& slices, int threads) {
  const std::size_t units = units_of<E>(slices.longest<E>());
  return team.has_all() && units <= static_cast<std::size_t>(threads) &&
         units * kLineBytes <= team.space.packet_row;
}

// What such a kernel is handed: all that can be known beforehand.
struct AtOnce {
  unsigned count, each, longer;  // as in Slices
  std::size_t flag_step, packet_step,
      parity_step;                // bytes to those of the next channel, and parity
  std::byte* flags;               // of channel 0, of this PE
  std::byte* from[kNearMembers];  // what comes from each PE
  std::byte*
      to[kNearMembers];  // what goes to the PEs around the team, from the one after this one on

  AtOnce(const TeamPlace& place, const Slices& slices)
      : count(static_cast<unsigned>(slices.count)),
        each(static_cast<unsigned>(slices.each)),
        longer(static_cast<unsigned>(slices.longer)),
        from{},
        to{} {
    const ChannelSpace& space = place.space;
    const ChannelSpace next = space.further(1);
    const int me = place.team.me, n = place.team.n;
    flag_step = next.flags - space.flags;
    packet_step = next.packets - space.packets;
    parity_step = space.senders * space.packet_row;
    flags = place.slab[me] + space.flags;
    const auto row = [&](int receiver, int sender) {
      return place.slab[receiver] + space.packets +
             static_cast<std::size_t>(sender) * space.packet_row;
    };
    for (int pe = 0; pe < n; ++pe) from[pe] = row(me, pe);
    for (int i = 1; i < n; ++i) to[i - 1] = row((me + i) % n, me);
  }
};

// One block alone, and many, gain 2 to 3 % where they let the next kernel in as soon as all has come; those
// between lose as much, whose successor comes to other multiprocessors (measured on H200, which has 132).
constexpr unsigned kBlocksLettingNextIn = 96;

// Apart, so that the way past it is short.
MESHMEM_DEVICE_APART std::uint64_t epoch_after_wiping_at_once(const TeamPlace& place,
                                                              std::uint64_t epoch) {
  return epoch_after_wiping(Block(), TeamSync(place, static_cast<int>(blockIdx.x)), epoch);
}

// The units of all PEs, in PE order; `mine` is what this one has sent.
template <ReduceOp op, typename E>
MESHMEM_DEVICE UnitTotal<E> receive_at_once(const AtOnce& job, std::size_t at, const TeamView& team,
                                            const Bits128& mine, std::uint64_t epoch) {
  Bits128 line[kNearMembers];
#pragma unroll
  for (Bits128& one : line) one = mine;
  for (bool all = false; !all;) {
#pragma unroll
    for (int pe = 0; pe < kNearMembers; ++pe) {
      if (pe < team.n && pe != team.me)
        line[pe] = load_pair(reinterpret_cast<const Bits128*>(job.from[pe] + at));
    }
    all = true;
#pragma unroll
    for (const Bits128& one : line) all = all && has_come(one, epoch);
    if (!all) pause();
  }
  UnitTotal<E> total;
  begin_total(total, bit_cast<Unit<E>>(data_of(line[0])));
#pragma unroll
  for (int pe = 1; pe < kNearMembers; ++pe)
    if (pe < team.n) combine_unit<op, E>(total, bit_cast<Unit<E>>(data_of(line[pe])));
  return total;
}

template <ReduceOp op, typename E>
__global__ void __launch_bounds__(kThreads)
    reduce_at_once_kernel(const MESHMEM_GRID_CONSTANT TeamPlace place,
                          const MESHMEM_GRID_CONSTANT AtOnce job, E* dest, const E* source) {
  constexpr auto kGrain = static_cast<unsigned>(Slices::grain<E>());
  const unsigned channel = blockIdx.x, u = threadIdx.x;
  const int n = place.team.n;
  const auto at_most = [](unsigned i, unsigned most) { return i < most ? i : most; };
  const unsigned first = (job.each * channel + at_most(channel, job.longer)) * kGrain;
  const unsigned end = first + (job.each + (channel < job.longer ? 1 : 0)) * kGrain;
  const unsigned count = at_most(end, job.count) - at_most(first, job.count);
  const bool has_unit = u < units_of<E>(count);
  auto* const counter = reinterpret_cast<std::uint64_t*>(job.flags + channel * job.flag_step);
  std::size_t at = channel * job.packet_step + u * kLineBytes;

  after_earlier_kernels();
  Unit<E> own{};
  if (has_unit) own = load_unit(source + first, count, u);
  std::uint64_t epoch = load_relaxed(counter) + 1;
  if (needs_wiping(epoch)) epoch = epoch_after_wiping_at_once(place, epoch);
  if (epoch % 2 != 0) at += job.parity_step;
  const Bits128 mine = line_of(bit_cast<std::uint64_t>(own), epoch);
  if (has_unit) {
#pragma unroll
    for (int i = 1; i < kNearMembers; ++i) {
      if (i < n) store_pair(reinterpret_cast<Bits128*>(job.to[i - 1] + at), mine);
    }
  }
  __syncthreads();
  if (u == 0) *counter = epoch;
  if (!has_unit) return;
  const UnitTotal<E> total = receive_at_once<op, E>(job, at, place.team, mine, epoch);
  if (gridDim.x == 1 || gridDim.x >= kBlocksLettingNextIn) let_next_in();
  store_unit(dest + first, count, u, finished<op, E>(total, n));
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_KERNELS_AT_ONCE_HPP_
