// SPDX-License-Identifier: Apache-2.0
//
// Puts of packets: data that says by itself when it has come, for messages so short that the fence
// between data and signal is most of what they take. They go into packet memory of the receiver, which
// takes the data out of it.
// Invariant: as for all packets, the sender sees to it that the receiver is done with what lies there,
// and the tag differs from that of any packet there. Nothing else is ordered by them.
#ifndef MESHMEM_DEVICE_PACKET_PUT_HPP_
#define MESHMEM_DEVICE_PACKET_PUT_HPP_

#include "device/module.hpp"
#include "device/packets.hpp"
#include "device/teams.hpp"

namespace meshmem {
namespace device {

// Lines move in one access each. Debug builds say what is wrong, where hardware would stop without a word.
MESHMEM_DEVICE void check_packets(const void* packets) {
#ifndef NDEBUG
  if (reinterpret_cast<std::uintptr_t>(packets) % kLineBytes == 0) return;
  printf("meshmem: PE %d, in a kernel: %p is no multiple of %d, as packets' addresses must be\n",
         state().me, packets, static_cast<int>(kLineBytes));
  trap();
#else
  (void)packets;
#endif
}

template <typename Group, typename Pes>
MESHMEM_DEVICE void put_packets(const Group& group, Pes pes, void* packets, const void* source,
                                std::size_t nbytes, std::uint32_t tag, int pe) {
  check_packets(packets);
  if (nbytes == 0) return;
  const auto* from = static_cast<const std::byte*>(source);
  auto* to = static_cast<Bits128*>(translate(packets, pes.world_pe(pe)));
  const auto step = static_cast<unsigned>(group.size());
  const unsigned count = lines_for(nbytes);
#pragma unroll 1
  for (auto i = static_cast<unsigned>(group.rank()); i < count; i += kLinesTogether * step) {
    std::uint64_t word[kLinesTogether] = {};
#pragma unroll
    for (unsigned k = 0; k < kLinesTogether; ++k)
      if (i + k * step < count) word[k] = load_word(from, nbytes, i + k * step);
#pragma unroll
    for (unsigned k = 0; k < kLinesTogether; ++k)
      if (i + k * step < count) send_line(to + i + k * step, word[k], tag);
  }
}

// Returns when all data is in dest, for all threads of the group.
template <typename Group>
MESHMEM_DEVICE void wait_packets(const Group& group, void* dest, const void* packets,
                                 std::size_t nbytes, std::uint32_t tag) {
  check_packets(packets);
  if (nbytes > 0) {
    check_symmetric(packets);
    const auto* from = static_cast<const Bits128*>(packets);
    auto* to = static_cast<std::byte*>(dest);
    receive_lines(
        group, lines_for(nbytes), tag, [from](unsigned i) { return from + i; },
        [to, nbytes](unsigned i, std::uint64_t word) { store_word(to, nbytes, i, word); });
  }
  group.sync();
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_PACKET_PUT_HPP_
