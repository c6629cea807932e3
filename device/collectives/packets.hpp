// SPDX-License-Identifier: Apache-2.0
//
// Packets: 4 bytes of data and 4 of flag in one 8-byte store, so that data needs no fence and no
// barrier: whoever sees the flag has the data.
//
// A message is a row of packets in the memory of the receiver: the channel's row for its sender and the
// parity of the operation. The flag is the operation's epoch, cut to 32 bits; next_epoch() sees to it
// that no packet lies there when its flag comes around.
// Invariant: a sender fills the rows of parity p only when it knows that the operation that used
// them last is over in all PEs (sync.hpp).
#ifndef MESHMEM_DEVICE_COLLECTIVES_PACKETS_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_PACKETS_HPP_

#include "device/sync.hpp"

namespace meshmem {
namespace device {

constexpr std::size_t kPacketBytes = 8;
constexpr std::size_t kPacketData = 4;

MESHMEM_DEVICE std::uint64_t make_packet(std::uint32_t data, std::uint32_t flag) {
  return static_cast<std::uint64_t>(flag) << 32 | data;
}

// The row of packets from `sender` in the memory of `receiver`.
MESHMEM_DEVICE std::uint64_t* packet_row(const TeamSync& sync, int receiver, int sender,
                                         std::uint64_t epoch) {
  const SyncLayout& layout = state().sync_layout;
  const std::size_t row = (epoch & 1) * layout.senders() + static_cast<std::size_t>(sender);
  return reinterpret_cast<std::uint64_t*>(sync.slab_of(receiver) +
                                          layout.packets(sync.slot, sync.channel) +
                                          row * layout.packet_row(sync.slot));
}

MESHMEM_DEVICE void send_packet(std::uint64_t* to, std::uint32_t data, std::uint64_t epoch) {
  store_relaxed(to, make_packet(data, static_cast<std::uint32_t>(epoch)));
}
MESHMEM_DEVICE std::uint32_t receive_packet(const std::uint64_t* from, std::uint64_t epoch) {
  for (;;) {
    const std::uint64_t packet = load_relaxed(from);
    if (static_cast<std::uint32_t>(packet >> 32) == static_cast<std::uint32_t>(epoch))
      return static_cast<std::uint32_t>(packet);
    pause();
  }
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_PACKETS_HPP_
