// SPDX-License-Identifier: Apache-2.0
//
// What kernels know of the job: one plain struct that start-up fills and copies into every module
// of device code. Also the layout of the sync slab, the memory in which kernels of different PEs
// wait for each other.
// Invariant: trivially copyable, the same bytes for every compiler; pointers in it are valid on
// this PE's device. Included by device code and by src/, which fills it.
#ifndef MESHMEM_DEVICE_STATE_HPP_
#define MESHMEM_DEVICE_STATE_HPP_

#include <cstddef>
#include <cstdint>

#include "device/target.hpp"

namespace meshmem {
namespace device {

// A kernel finds the copies of the first PEs in the struct itself, in constant memory; of the
// others in a table in device memory.
constexpr int kNearPes = 64;

// A symmetric segment: this PE's copy of it, and where each PE's copy is mapped on this device.
// Null: that PE cannot be reached.
struct Segment {
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

// One word that one PE writes and another polls, with nothing else in its cache lines.
struct alignas(128) Flag {
  std::uint64_t value;
};

// The sync slab of a PE, for n PEs of the world. Teams are found by their slot, the same on all
// members. Each has flags and a stage: space for packets, for each parity of the operation's number
// and for each sender; large for the first teams, small for the many that there may be.
//
//   slot 0: [ epoch | arrival of PE 0 .. n-1 of the team ]  slot 1: ...   then the stages
constexpr int kTeamSlots = 2048;
constexpr int kLargeStages = 16;
constexpr std::size_t kSmallStageBytes = 512;

struct SyncLayout {
  int n_pes;
  std::size_t large_stage_bytes;

  MESHMEM_HOST_DEVICE_MEMBER static SyncLayout of(int n_pes) {
    constexpr std::size_t kBudget = std::size_t{64} << 20;
    constexpr std::size_t kMost = std::size_t{256} << 10;
    constexpr std::size_t kLeast = 4096;
    const std::size_t share = kBudget / (kLargeStages * 2) / static_cast<std::size_t>(n_pes);
    const std::size_t bytes = share / kLeast * kLeast;
    return {n_pes, bytes > kMost ? kMost : bytes < kLeast ? kLeast : bytes};
  }
  MESHMEM_HOST_DEVICE_MEMBER std::size_t senders() const { return static_cast<std::size_t>(n_pes); }
  // Of one parity and one sender.
  MESHMEM_HOST_DEVICE_MEMBER std::size_t stage_bytes(int slot) const {
    return slot < kLargeStages ? large_stage_bytes : kSmallStageBytes;
  }
  MESHMEM_HOST_DEVICE_MEMBER std::size_t team_flag_bytes() const {
    return sizeof(Flag) * (1 + senders());
  }
  MESHMEM_HOST_DEVICE_MEMBER std::size_t team_stage_bytes(int slot) const {
    return stage_bytes(slot) * 2 * senders();
  }
  MESHMEM_HOST_DEVICE_MEMBER std::size_t flags(int slot) const {
    return team_flag_bytes() * static_cast<std::size_t>(slot);
  }
  MESHMEM_HOST_DEVICE_MEMBER std::size_t stage(int slot) const {
    const int large = slot < kLargeStages ? slot : kLargeStages;
    return flags(kTeamSlots) + 2 * senders() *
                                   (large_stage_bytes * static_cast<std::size_t>(large) +
                                    kSmallStageBytes * static_cast<std::size_t>(slot - large));
  }
  MESHMEM_HOST_DEVICE_MEMBER std::size_t total_bytes() const { return stage(kTeamSlots); }
};

struct State {
  int me;
  int n_pes;
  int near_pes;  // the PEs below it are in the near copies, and all of them can be reached
  Segment device_heap;
  Segment host_heap;
  Segment sync;  // base is null if kernels have no way to the other PEs
  SyncLayout sync_layout;
  const TeamView* teams;  // in device memory, kTeamSlots of them
  const RegisteredBuffer* registered;
  int n_registered;
};

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_STATE_HPP_
