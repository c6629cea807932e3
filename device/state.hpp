// SPDX-License-Identifier: Apache-2.0
//
// The kernels' view of the job: one plain struct that start-up fills and copies into every module
// of device code. Also the layout of the sync slab, the memory in which kernels of different PEs
// wait for each other.
// Invariant: trivially copyable, the same bytes for every compiler; pointers in it are valid on
// this PE's device. Included by device code and by src/, which fills it.
#ifndef MESHMEM_DEVICE_STATE_HPP_
#define MESHMEM_DEVICE_STATE_HPP_

#include <cstddef>
#include <cstdint>

#include "device/proxy_ring.hpp"
#include "device/target.hpp"

namespace meshmem {
namespace device {

// The struct itself, in constant memory, says where the copies of the first PEs are; a table in
// device memory says it of the others.
constexpr int kNearPes = 64;

// A symmetric segment: this PE's copy of it, and where each PE's copy is mapped on this device.
// Null: that PE cannot be reached.
struct KernelSegment {
  std::uintptr_t base;
  std::size_t bytes;
  std::byte* near_copy[kNearPes];
  std::byte* const* far_copy;  // indexed by PE too; only read from PE kNearPes on

  MESHMEM_HOST_DEVICE_MEMBER std::byte* copy_of(int pe) const {
    return pe < kNearPes ? near_copy[pe] : far_copy[pe];
  }
  MESHMEM_HOST_DEVICE_MEMBER bool holds(std::uintptr_t address) const {
    return address - base < bytes;
  }
};

// A buffer of the user's that is symmetric by registration; a table of them is in device memory.
struct RegisteredBuffer {
  std::uintptr_t base;
  std::size_t bytes;
  std::byte* const* copy;  // indexed by PE
};

struct TeamView {
  int me;  // this PE's number in the team; -1: the slot holds no team of which it is a member
  int n;   // PEs of the team
  const int* pes;  // world PE of each, in device memory; null: team numbers are world numbers
};

// A line of memory for one word that is polled or counted, with nothing else beside it; or for a
// word of each of several PEs. With checks the line of a PE's progress also has a description of
// its call (same_call.hpp).
struct alignas(128) Flag {
  static constexpr std::size_t kWords = 16;
  std::uint64_t value;
  std::uint64_t others[kWords - 1];

  static Flag filled_with(std::uint64_t word) {
    Flag flag{word, {}};
    for (std::uint64_t& other : flag.others) other = word;
    return flag;
  }
};

// Progress within an operation is its epoch, shifted by kStepBits, and the step. The bits are few,
// so that a flag that got no progress for a long time (2^47 operations) still compares as the past.
constexpr int kStepBits = 16;

// The sync slab of a PE, for the n PEs of its node: memory for the teams' collectives in kernels.
// Teams are found by their slot, the same on all members. A slot has channels. Each channel has an
// epoch, flags and space for data of its own, so that the blocks of a kernel, one on each channel,
// never wait for each other. The first teams have many channels with large rows, all other teams
// one.
//
//   slot 0, channel 0: [ epoch | arrivals of PE 0 .. n-1 of the team
//                        | their progress, a Flag each | grid ]
//           channel 1: ...
//   the packets of all channels, then their wide lines, then plain data:
//                      [ parity ][ sender ][ row ]
//
// Arrivals lie side by side, so a thread that looks at those of 16 PEs asks for one line. This
// takes 0.1 to 0.2 us off a meeting of 4 GPUs.
// Packets, wide lines and plain data never share memory: data of one could look like a flag of
// another. GPUs that have no wide lines (collectives/wide_lines.hpp) need no memory for them.
constexpr int kTeamSlots = 2048;
constexpr int kLargeSlots = 4;
constexpr int kChannels = 128;  // of a large slot
constexpr std::size_t kSmallPacketRow = 512;
constexpr std::size_t kSmallPlainRow = 128;

// Where a channel's memory lies in the slab: offsets, and the bytes of a row.
struct ChannelSpace {
  std::size_t senders;  // rows of each parity
  std::size_t flags, packets, wide, plain;
  std::size_t packet_row, wide_row, plain_row;

  MESHMEM_HOST_DEVICE_MEMBER std::size_t rows() const { return 2 * senders; }
  // Indices into the channel's flags: the first PE's progress, the grid's flag, and how many flags
  // there are.
  MESHMEM_HOST_DEVICE_MEMBER std::size_t progress_flag() const { return 1 + lines_of_arrivals(); }
  MESHMEM_HOST_DEVICE_MEMBER std::size_t grid_flag() const { return progress_flag() + senders; }
  MESHMEM_HOST_DEVICE_MEMBER std::size_t flags_of_channel() const { return grid_flag() + 1; }
  // The space of the channel that lies `channels` after this one in the same slot.
  MESHMEM_HOST_DEVICE_MEMBER ChannelSpace channel_after(int channels) const {
    const auto by = static_cast<std::size_t>(channels);
    ChannelSpace space = *this;
    space.flags += by * (flags_of_channel() * sizeof(Flag));
    space.packets += by * (rows() * packet_row);
    space.wide += by * (rows() * wide_row);
    space.plain += by * (rows() * plain_row);
    return space;
  }
  // Sets the channel's flags, in the host's memory, to their values after `epoch` operations and
  // before any grid.
  void set_flags(Flag* all, std::uint64_t epoch) const {
    for (std::size_t i = 0; i < progress_flag(); ++i) all[i] = Flag::filled_with(epoch);
    for (std::size_t i = progress_flag(); i < grid_flag(); ++i)
      all[i] = Flag::filled_with(epoch << kStepBits);
    all[grid_flag()] = Flag::filled_with(epoch << 32);
  }

 private:
  MESHMEM_HOST_DEVICE_MEMBER std::size_t lines_of_arrivals() const {
    return (senders + Flag::kWords - 1) / Flag::kWords;
  }
};

struct SyncLayout {
  int n_pes;
  int channels;               // of a large slot, as the rows are
  std::size_t channel_flags;  // Flags of a channel
  std::size_t large_packet_row;
  std::size_t large_wide_row;
  std::size_t large_plain_row;

  // In all large slots together packets take at most 128 MiB, wide lines and plain data 256 MiB
  // each; with many PEs more, since rows have a least length. With half as much plain data a ring
  // of 4 GPUs is 1 to 2 % slower, with twice as much it gains less than 1 %.
  MESHMEM_HOST_DEVICE_MEMBER static SyncLayout of(int n_pes, bool wide_lines) {
    constexpr std::size_t kMiB = std::size_t{1} << 20;
    ChannelSpace channel{};
    channel.senders = static_cast<std::size_t>(n_pes);
    return {n_pes,
            kChannels,
            channel.flags_of_channel(),
            large_row(128 * kMiB, 32 << 10, n_pes),
            wide_lines ? large_row(256 * kMiB, 128 << 10, n_pes) : 0,
            large_row(256 * kMiB, 64 << 10, n_pes)};
  }
  MESHMEM_HOST_DEVICE_MEMBER static bool is_large(int slot) { return slot < kLargeSlots; }
  MESHMEM_HOST_DEVICE_MEMBER int channels_of(int slot) const {
    return is_large(slot) ? channels : 1;
  }
  MESHMEM_HOST_DEVICE_MEMBER std::size_t total_bytes() const { return plain(kTeamSlots); }
  MESHMEM_HOST_DEVICE_MEMBER ChannelSpace space(int slot, int channel = 0) const {
    const bool large = is_large(slot);
    const ChannelSpace first{senders(),
                             flags(slot),
                             packets(slot),
                             wide(slot),
                             plain(slot),
                             large ? large_packet_row : kSmallPacketRow,
                             large ? large_wide_row : 0,
                             large ? large_plain_row : kSmallPlainRow};
    return channel == 0 ? first : first.channel_after(channel);
  }

 private:
  MESHMEM_HOST_DEVICE_MEMBER std::size_t senders() const { return static_cast<std::size_t>(n_pes); }
  // Where each kind of the slot's memory begins: behind the same kind of all slots before.
  MESHMEM_HOST_DEVICE_MEMBER std::size_t flags(int slot) const {
    const std::size_t bytes = channel_flags * sizeof(Flag);
    return slots_before(slot, bytes, bytes);
  }
  MESHMEM_HOST_DEVICE_MEMBER std::size_t packets(int slot) const {
    return flags(kTeamSlots) + rows_before(slot, large_packet_row, kSmallPacketRow);
  }
  MESHMEM_HOST_DEVICE_MEMBER std::size_t wide(int slot) const {
    return packets(kTeamSlots) + rows_before(slot, large_wide_row, 0);
  }
  MESHMEM_HOST_DEVICE_MEMBER std::size_t plain(int slot) const {
    return wide(kTeamSlots) + rows_before(slot, large_plain_row, kSmallPlainRow);
  }
  MESHMEM_HOST_DEVICE_MEMBER static std::size_t large_row(std::size_t budget, std::size_t most,
                                                          int n_pes) {
    constexpr std::size_t kLeast = 512;
    const std::size_t share =
        budget / (kLargeSlots * kChannels * 2) / static_cast<std::size_t>(n_pes);
    const std::size_t bytes = share / kLeast * kLeast;
    return bytes > most ? most : bytes < kLeast ? kLeast : bytes;
  }
  // The bytes of the slots before this one, if a channel of a large slot takes `large` bytes and
  // one of a small slot `small`.
  MESHMEM_HOST_DEVICE_MEMBER std::size_t slots_before(int slot, std::size_t large,
                                                      std::size_t small) const {
    const int large_slots = is_large(slot) ? slot : kLargeSlots;
    return static_cast<std::size_t>(large_slots * channels) * large +
           static_cast<std::size_t>(slot - large_slots) * small;
  }
  MESHMEM_HOST_DEVICE_MEMBER std::size_t rows_before(int slot, std::size_t large,
                                                     std::size_t small) const {
    return slots_before(slot, 2 * senders() * large, 2 * senders() * small);
  }
};

// A team as a kernel of the library gets it, by value: reading it from memory or from a module's
// constants would take longer than a small collective.
constexpr int kNearMembers = 8;
struct TeamHandle {
  TeamView team;
  int channels;
  ChannelSpace space;             // of channel 0
  std::byte* slab[kNearMembers];  // of the first PEs of the team; null: ask the state

  // Whether `slab` has the slabs of all members.
  MESHMEM_HOST_DEVICE_MEMBER bool has_all_slabs() const {
    if (team.n > kNearMembers) return false;
    for (int pe = 0; pe < team.n; ++pe)
      if (!slab[pe]) return false;
    return true;
  }
};

// A reduction takes one shot up to `one_shot` bytes, two shots up to `two_shot`; beyond, it pulls.
struct ReduceLimits {
  std::size_t one_shot;
  std::size_t two_shot;
};

// The limits of reductions in users' kernels, for each kind of calling group.
struct KernelReduceLimits {
  ReduceLimits thread, wave, block, grid;
};

struct State {
  int me;
  int n_pes;
  int near_pes;  // PEs below this number are in near_copy, and can be reached
  KernelSegment device_heap;
  KernelSegment host_heap;
  KernelSegment sync;  // base is null if kernels have no way to the other PEs
  // Where this PE tells the PEs after it, around the world, that it has come to a meeting of all
  // PEs on channel 0. The first address is in the slab of the next PE. Kernels find them here,
  // without reading device memory.
  std::uint64_t* arrivals_after[kNearPes];
  SyncLayout sync_layout;
  KernelReduceLimits reduce_limits;
  const TeamView* teams;  // in device memory, kTeamSlots of them
  const RegisteredBuffer* registered;
  int n_registered;
  ProxyRing proxy;             // by which kernels reach PEs of other nodes
  std::uint64_t longest_wait;  // on GPUs and with checks, in ticks of wall_clock64(); 0: no limit

  // Sets arrivals_after from the sync slabs of all PEs, once the layout is known. The addresses are
  // those of TeamSync::arrival().
  void set_arrivals_after(std::byte* const* slabs) {
    const std::size_t arrivals = sync_layout.space(0).flags + sizeof(Flag);
    for (int i = 1; i < n_pes && i <= kNearPes; ++i)
      arrivals_after[i - 1] =
          reinterpret_cast<std::uint64_t*>(slabs[(me + i) % n_pes] + arrivals) + me;
  }
};

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_STATE_HPP_
