// SPDX-License-Identifier: Apache-2.0
//
// A process group as meshmem has it: a team, its members, and their part of the stages.
// Invariant: all members have the same parts and count the buffers alike.
#pragma once
#include <shmemx.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "group_team.hpp"
#include "stage.hpp"

namespace meshmem::pytorch {

// The stage of the host begins with this. All words are zero at first. Then come the two buffers;
// the rest is for messages.
struct alignas(4096) Control {
  std::uint64_t n_started;   // operations that this PE has begun: read by PEs that wait too long
  std::int64_t compared[2];  // what members compare when they meet, in turns
};

struct Group {
  // Collective over the members, which are PEs of the world.
  Group(int rank, std::vector<int> members, std::string group_name, bool has_gpus);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  int n() const { return static_cast<int>(pes.size()); }
  int pe(int rank_there) const { return pes[static_cast<std::size_t>(rank_there)]; }
  static constexpr std::size_t kBufferBytes = std::size_t{4} << 20;
  char* host_buffer(std::size_t i) const { return stage + sizeof(Control) + i * kBufferBytes; }
  char* message_area() const { return host_buffer(2); }
  std::size_t message_bytes() const {
    return memory().host.part_bytes() - sizeof(Control) - 2 * kBufferBytes;
  }

  // The stage of the device has two buffers, and then slots and words of messages.
  static constexpr std::size_t kDeviceSlots = 2;  // of each ordered pair of members
  struct alignas(64) DeviceWords {                // for each other member
    std::uint64_t in_use[kDeviceSlots];           // a slot that the member has for this PE
    std::uint64_t full[kDeviceSlots];             // a slot that this PE has for the member
  };
  std::size_t device_buffer_bytes() const { return memory().device.part_bytes() / 8 * 3; }
  char* device_buffer(std::size_t i) const { return device_stage + i * device_buffer_bytes(); }
  DeviceWords& device_words(int rank) const {
    return reinterpret_cast<DeviceWords*>(device_buffer(2))[rank];
  }
  std::size_t device_slot_bytes() const {
    const std::size_t room = memory().device.part_bytes() - 2 * device_buffer_bytes() -
                             pes.size() * sizeof(DeviceWords) - 256;
    return room / (pes.size() * kDeviceSlots) / 256 * 256;
  }
  // The slot that each member has for messages from `rank`.
  char* device_slot(int rank, std::size_t i) const {
    const std::size_t words = (pes.size() * sizeof(DeviceWords) + 255) / 256 * 256;
    const std::size_t number = static_cast<std::size_t>(rank) * kDeviceSlots + i;
    return device_buffer(2) + words + number * device_slot_bytes();
  }
  Control& control() const { return *reinterpret_cast<Control*>(stage); }
  // "meshmem: group 0, PE 3 (rank 1)"
  std::string text() const;

  std::string name;
  int me;
  std::vector<int> pes;
  GroupTeam own_team;
  shmem_team_t team;  // own_team's
  int part = Stages::kNone, device_part = Stages::kNone;
  // Whether the device has done what streams have begun with the part.
  std::function<bool()> device_is_done = [] { return true; };
  char* stage = nullptr;
  char* device_stage = nullptr;  // null without GPUs, and where all parts are taken
  // The team's collectives on streams take tensors where they are. The same on all members.
  bool takes_any_memory = false;
};

}  // namespace meshmem::pytorch
