// SPDX-License-Identifier: Apache-2.0
//
// alltoallv in kernels. Each PE sends each other PE a packet that says where in its dest that PE's
// block goes. Then each PE pushes its blocks, and a meeting ends the call.
// Invariant: the packets stand for the first meeting: a PE's dest is written after all threads of
// its group have entered. Bodies are the same for all types. Used by extension_routines.hpp and the
// kernel of streams.
#ifndef MESHMEM_DEVICE_COLLECTIVES_ALLTOALLV_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_ALLTOALLV_HPP_

#include "device/collectives/by_host.hpp"
#include "device/collectives/packet_moves.hpp"
#include "device/collectives/slices.hpp"

namespace meshmem {
namespace device {

// The work of block `part` of `parts` blocks, each of which has its own channel.
template <typename Group>
MESHMEM_DEVICE void alltoallv(const Group& group, const TeamSync& sync, const Alltoallv& call,
                              int part = 0, int parts = 1) {
  const int n = sync.team.n, me = sync.team.me;
  const std::uint64_t epoch = begin_packets(group, sync);
  for (int i = group.rank() + 1; i < n; i += group.size()) {
    const int pe = sync.peer(i);
    send_line(packet_row(sync, pe, me, epoch), call.to.displs[pe], epoch);
  }
  for (int i = 1; i <= n; ++i) {
    const int pe = sync.peer(i);
    std::uint64_t displ = call.to.displs[me];
    if (pe != me)
      receive_from_each<1>(
          1, packet_row(sync, me, pe, epoch), 0, epoch, [](int) { return true; },
          [&](int, std::uint64_t theirs) { displ = theirs; });
    const Slice slice = slice_of<std::byte>(call.from.nelems[pe] * call.elem_bytes, part, parts);
    if (slice.count == 0) continue;
    std::byte* const to =
        static_cast<std::byte*>(call.dest) + displ * call.elem_bytes + slice.first;
    const std::byte* const from = static_cast<const std::byte*>(call.source) +
                                  call.from.displs[pe] * call.elem_bytes + slice.first;
    copy<OwnSource>(group, pe == me ? to : translate(to, world_pe_of(sync.team, pe)), from,
                    slice.count);
  }
  // Where each thread fences, it reads the epoch before the meeting's barrier. By then the leader
  // must have written the epoch of the packets.
  if (kEachFences) group.sync();
  team_sync(group, sync);
}

// Called by one thread, on a team that spans machines. proxy_ring.hpp says what is in
// `command.word[]`.
MESHMEM_DEVICE_COLD void ask_for_alltoallv(shmem_team_t team, const Alltoallv& call) {
  ProxyCommand command = command_for(ProxyOp::collective, slot_of(team));
  command.length = static_cast<std::uint8_t>(call.elem_bytes);
  command.detail = static_cast<std::uint8_t>(CollectiveKind::alltoallv);
  const void* const words[] = {call.dest,      call.source,      call.to.nelems,
                               call.to.displs, call.from.nelems, call.from.displs};
  for (int i = 0; i < kResultOfCollective; ++i) command.word[i] = number_of(words[i]);
  release_fence();  // publishes the group's released stores to the host
  post_and_await_result(command, kResultOfCollective);
}

template <typename Group>
MESHMEM_DEVICE_COLD int alltoallv_by_host(const Group& group, shmem_team_t team,
                                          const Alltoallv& call) {
  check_proxy();
  quiet(group);
  by_leader(group, [&] { ask_for_alltoallv(team, call); });
  return 0;
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_ALLTOALLV_HPP_
