// SPDX-License-Identifier: Apache-2.0
//
// Puts of packets: data that says by itself when it has come, for messages so short that the fence
// between data and signal would take most of their time. They go into packet memory of the
// receiver, which takes the data out of it.
// Invariant: as for all packets, the sender ensures that the receiver is done with the packets
// there, and the tag differs from theirs. Nothing else is ordered by them.
#ifndef MESHMEM_DEVICE_PACKET_PUT_HPP_
#define MESHMEM_DEVICE_PACKET_PUT_HPP_

#include "device/module.hpp"
#include "device/packets.hpp"
#include "device/proxy.hpp"
#include "device/teams.hpp"

namespace meshmem {
namespace device {

// Each line moves in one access, so it must be aligned. Without checks the hardware stops and does
// not say why.
MESHMEM_DEVICE void check_packets(const void* packets) {
  if (!kChecks || reinterpret_cast<std::uintptr_t>(packets) % kLineBytes == 0) return;
  MESHMEM_PRINT_MISTAKE("%p is no multiple of %d, as packets' addresses must be", packets,
                        static_cast<int>(kLineBytes));
  trap();
}

template <bool even, typename Group>
MESHMEM_DEVICE void send_message(const Group& group, Bits128* to, const std::byte* from,
                                 std::size_t nbytes, std::uint32_t tag) {
  const auto step = static_cast<unsigned>(group.size());
  const unsigned count = lines_for(nbytes);
  auto i = static_cast<unsigned>(group.rank());
#pragma unroll 1
  for (; i + (kLinesTogether - 1) * step < count; i += kLinesTogether * step) {
    std::uint64_t word[kLinesTogether];
#pragma unroll
    for (unsigned k = 0; k < kLinesTogether; ++k)
      word[k] = Words<even>::load(from, nbytes, i + k * step);
#pragma unroll
    for (unsigned k = 0; k < kLinesTogether; ++k) send_line(to + i + k * step, word[k], tag);
  }
#pragma unroll 1
  for (; i < count; i += step) send_line(to + i, Words<even>::load(from, nbytes, i), tag);
}
template <bool even, typename Group>
MESHMEM_DEVICE void receive_message(const Group& group, std::byte* to, const Bits128* from,
                                    std::size_t nbytes, std::uint32_t tag) {
  receive_lines(
      group, lines_for(nbytes), tag, [from](unsigned i) { return from + i; },
      [to, nbytes](unsigned i, std::uint64_t word) { Words<even>::store(to, nbytes, i, word); });
}
template <typename Group>
MESHMEM_DEVICE_APART void send_uneven(Group group, Bits128* to, const std::byte* from,
                                      std::size_t nbytes, std::uint32_t tag) {
  send_message<false>(group, to, from, nbytes, tag);
}
template <typename Group>
MESHMEM_DEVICE_APART void receive_uneven(Group group, std::byte* to, const Bits128* from,
                                         std::size_t nbytes, std::uint32_t tag) {
  receive_message<false>(group, to, from, nbytes, tag);
}

// To a far PE: each command carries some lines, which arrive as they would one by one.
MESHMEM_DEVICE_COLD void send_far(Bits128* to, const std::byte* from, std::size_t nbytes,
                                  std::uint32_t tag, unsigned first, unsigned step, int pe) {
  constexpr unsigned kLines = ProxyCommand::kMostInline / kLineBytes;
  const unsigned count = lines_for(nbytes);
  for (unsigned i = first * kLines; i < count; i += step * kLines) {
    const unsigned lines = count - i < kLines ? count - i : kLines;
    ProxyCommand command = command_for(ProxyOp::put_inline, pe);
    command.length = static_cast<std::uint8_t>(lines * kLineBytes);
    command.word[0] = number_of(to + i);
    for (unsigned k = 0; k < lines; ++k) {
      const Bits128 line = line_of(load_word(from, nbytes, i + k), tag);
      command.word[1 + 2 * k] = line.word[0];
      command.word[2 + 2 * k] = line.word[1];
    }
    post(command);
  }
}

// The rarer cases, out of line as in rma.hpp: another segment, or a far PE.
template <typename Group>
MESHMEM_DEVICE_APART void send_rare(Group group, Bits128* packets, const std::byte* from,
                                    std::size_t nbytes, std::uint32_t tag, int world_pe) {
  auto* there = reinterpret_cast<Bits128*>(find_rare(packets, world_pe));
  if (!there) {
    send_far(packets, from, nbytes, tag, static_cast<unsigned>(group.rank()),
             static_cast<unsigned>(group.size()), world_pe);
  } else if (is_multiple(from, nbytes, kLineData)) {
    send_message<true>(group, there, from, nbytes, tag);
  } else {
    send_uneven(group, there, from, nbytes, tag);
  }
}

template <typename Group, typename Pes>
MESHMEM_DEVICE void put_packets(const Group& group, Pes pes, void* packets, const void* source,
                                std::size_t nbytes, std::uint32_t tag, int pe) {
  check_packets(packets);
  if (nbytes == 0) return;
  const auto* from = static_cast<const std::byte*>(source);
  const int world_pe = pes.world_pe(pe);
  auto* const lines = static_cast<Bits128*>(packets);
  Bits128* to = nullptr;
  if (!find_near(&to, lines, world_pe))
    send_rare(group, lines, from, nbytes, tag, world_pe);
  else if (is_multiple(from, nbytes, kLineData))
    send_message<true>(group, to, from, nbytes, tag);
  else
    send_uneven(group, to, from, nbytes, tag);
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
    if (is_multiple(to, nbytes, kLineData))
      receive_message<true>(group, to, from, nbytes, tag);
    else
      receive_uneven(group, to, from, nbytes, tag);
  }
  group.sync();
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_PACKET_PUT_HPP_
