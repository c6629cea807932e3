// SPDX-License-Identifier: Apache-2.0
//
// Packets: 4 bytes of data and 4 of flag in one 8-byte store, so that data needs no fence and no
// barrier: whoever sees the flag has the data. Two of them side by side make a *line*, which carries 8
// bytes and moves in one access where the target has one of 16 bytes; each half has its own flag, so
// nothing depends on the halves arriving together.
//
// A message is a row of lines in the memory of the receiver: the channel's row for its sender and the
// parity of the operation. The flag is the operation's epoch, cut to 32 bits; next_epoch() sees to it
// that no packet lies there when its flag comes around.
// Invariant: a sender fills the rows of parity p only when it knows that the operation that used
// them last is over in all PEs (sync.hpp).
#ifndef MESHMEM_DEVICE_COLLECTIVES_PACKETS_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_PACKETS_HPP_

#include "device/sync.hpp"

namespace meshmem {
namespace device {

constexpr std::size_t kLineBytes = sizeof(Bits128);
constexpr std::size_t kLineData = 8;

// The row of lines from `sender` in the memory of `receiver`.
MESHMEM_DEVICE Bits128* packet_row(const TeamSync& sync, int receiver, int sender,
                                   std::uint64_t epoch) {
  const std::size_t row = (epoch & 1) * sync.space.senders + static_cast<std::size_t>(sender);
  return reinterpret_cast<Bits128*>(sync.slab_of(receiver) + sync.space.packets +
                                    row * sync.space.packet_row);
}
// How many lines are between the rows of two senders that follow each other.
MESHMEM_DEVICE std::size_t lines_of_row(const TeamSync& sync) {
  return sync.space.packet_row / kLineBytes;
}

// The rows of an operation, between this PE and the others of the team.
class PacketRows {
 public:
  MESHMEM_DEVICE_MEMBER PacketRows(const TeamSync& sync, std::uint64_t epoch) : sync_(sync) {
    row_ = sync.space.packet_row;
    first_ = sync.space.packets + (epoch & 1) * sync.space.senders * row_;
    own_ = first_ + static_cast<std::size_t>(sync.team.me) * row_;
  }
  // Where PE `pe` gets what this one sends, and this one what `pe` sends.
  MESHMEM_DEVICE_MEMBER Bits128* in(int pe) const {
    return reinterpret_cast<Bits128*>(sync_.slab_of(pe) + own_);
  }
  MESHMEM_DEVICE_MEMBER const Bits128* from(int pe) const {
    return reinterpret_cast<const Bits128*>(sync_.slab_of(sync_.team.me) + first_ +
                                            static_cast<std::size_t>(pe) * row_);
  }

 private:
  const TeamSync& sync_;
  std::size_t row_, first_, own_;
};

MESHMEM_DEVICE Bits128 line_of(std::uint64_t data, std::uint64_t epoch) {
  constexpr std::uint64_t kLow = 0xffffffff;
  const std::uint64_t flag = epoch << 32;
  return {{flag | (data & kLow), flag | data >> 32}};
}
MESHMEM_DEVICE void send_line(Bits128* to, std::uint64_t data, std::uint64_t epoch) {
  store_pair(to, line_of(data, epoch));
}

MESHMEM_DEVICE bool has_come(const Bits128& line, std::uint64_t epoch) {
  const auto flag = static_cast<std::uint32_t>(epoch);
  return static_cast<std::uint32_t>(line.word[0] >> 32) == flag &&
         static_cast<std::uint32_t>(line.word[1] >> 32) == flag;
}
MESHMEM_DEVICE std::uint64_t data_of(const Bits128& line) {
  return line.word[1] << 32 | static_cast<std::uint32_t>(line.word[0]);
}
MESHMEM_DEVICE std::uint64_t receive_line(const Bits128* from, std::uint64_t epoch) {
  for (;;) {
    const Bits128 line = load_pair(from);
    if (has_come(line, epoch)) return data_of(line);
    pause();
  }
}

// A line from each of n PEs: that of PE 0 is `first`, those of the others are `apart` lines apart. Calls
// visit(pe, data) in PE order, also for those that are not awaited, with zero. Lines of several PEs
// are asked for together, so that the loads are under way at the same time.
template <int kTogether = 8, typename IsAwaited, typename Visit>
MESHMEM_DEVICE void receive_from_each(int n, const Bits128* first, std::size_t apart,
                                      std::uint64_t epoch, const IsAwaited& is_awaited,
                                      const Visit& visit) {
  for (int pe = 0; pe < n; pe += kTogether) {
    Bits128 line[kTogether] = {};
    for (bool all = false; !all;) {
      all = true;
#pragma unroll
      for (int k = 0; k < kTogether; ++k)
        if (pe + k < n && is_awaited(pe + k))
          line[k] = load_pair(first + static_cast<std::size_t>(pe + k) * apart);
#pragma unroll
      for (int k = 0; k < kTogether; ++k)
        if (pe + k < n && is_awaited(pe + k)) all = all && has_come(line[k], epoch);
      if (!all) pause();
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k)
      if (pe + k < n) visit(pe + k, data_of(line[k]));
  }
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_PACKETS_HPP_
