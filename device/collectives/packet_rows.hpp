// SPDX-License-Identifier: Apache-2.0
//
// Where messages of packet lines (packets.hpp) arrive: in the receiver's memory, in the channel's
// row for their sender and the parity of the operation's epoch. A line's flag is the epoch, cut to
// 32 bits. sync.hpp wipes old packets before a flag repeats.
// Invariant: a sender fills the rows of parity p only when it knows that all PEs have finished the
// operation that used them last (sync.hpp).
#ifndef MESHMEM_DEVICE_COLLECTIVES_PACKET_ROWS_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_PACKET_ROWS_HPP_

#include "device/packets.hpp"
#include "device/sync.hpp"

namespace meshmem {
namespace device {

// Returns the row in the memory of `receiver` for lines from `sender`.
MESHMEM_DEVICE Bits128* packet_row(const TeamSync& sync, int receiver, int sender,
                                   std::uint64_t epoch) {
  const std::size_t row = (epoch & 1) * sync.space.senders + static_cast<std::size_t>(sender);
  return reinterpret_cast<Bits128*>(sync.slab_of(receiver) + sync.space.packets +
                                    row * sync.space.packet_row);
}
// The number of lines from one sender's row to the next sender's.
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
  // to(): where PE `pe` receives from this PE. from(): where this PE receives from `pe`.
  MESHMEM_DEVICE_MEMBER Bits128* to(int pe) const {
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

// Receives one line from each of n PEs: PE 0's is at `first`, each next PE's `spacing` lines
// further. Calls visit(pe, data) for all PEs in order, with data 0 if !is_awaited(pe). Loads the
// lines of kTogether PEs together, so that their latencies overlap.
template <int kTogether = 8, typename IsAwaited, typename Visit>
MESHMEM_DEVICE void receive_from_each(int n, const Bits128* first, std::size_t spacing,
                                      std::uint64_t epoch, const IsAwaited& is_awaited,
                                      const Visit& visit) {
  for (int pe = 0; pe < n; pe += kTogether) {
    Bits128 line[kTogether] = {};
    for (bool all = false; !all;) {
      all = true;
      const int& pe_to_load = MESHMEM_OPAQUE(pe);
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        if (pe_to_load + k >= n) break;
        if (is_awaited(pe_to_load + k))
          line[k] = load_pair(first + static_cast<std::size_t>(pe + k) * spacing);
      }
      const int& pe_to_check = MESHMEM_OPAQUE(pe);
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        if (pe_to_check + k >= n) break;
        if (is_awaited(pe_to_check + k)) all = all && has_come(line[k], epoch);
      }
      if (!all)
        pause_for([&] {
          int k = 0;
          while (pe + k + 1 < n && (!is_awaited(pe + k) || has_come(line[k], epoch))) ++k;
          return first + static_cast<std::size_t>(pe + k) * spacing;
        });
    }
    has_waited();
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      if (pe + k >= n) break;
      visit(pe + k, data_of(line[k]));
    }
  }
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_PACKET_ROWS_HPP_
