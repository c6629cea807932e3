// SPDX-License-Identifier: Apache-2.0
//
// A process group as meshmem has it: a team, its members, and their part of the stages.
// Invariant: all members have the same parts and count the buffers alike.
#pragma once
#include <shmemx.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stage.hpp"

namespace meshmem::pytorch {

// The stage of the host begins with this. All words are zero at first. Then come the two buffers;
// the rest is for messages.
struct alignas(4096) Control {
  std::uint64_t n_started;    // operations that this PE has begun: read by PEs that wait too long
  std::uint64_t compared[2];  // what members compare when they meet
};

struct Group {
  // Collective over the members, which are PEs of the world.
  Group(int rank, std::vector<int> members, std::string group_name);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  int n() const { return static_cast<int>(pes.size()); }
  int pe(int rank_there) const { return pes[static_cast<std::size_t>(rank_there)]; }
  static constexpr std::size_t kBufferBytes = std::size_t{5} << 18;
  char* host_buffer(std::size_t i) const { return stage + sizeof(Control) + i * kBufferBytes; }
  Control& control() const { return *reinterpret_cast<Control*>(stage); }
  // "group default_pg, PE 3 (rank 1)"
  std::string text() const;

  std::string name;
  int me;
  std::vector<int> pes;
  shmem_team_t team = SHMEM_TEAM_INVALID;
  int part = -1, device_part = -1;
  char* stage = nullptr;
  char* device_stage = nullptr;
};

}  // namespace meshmem::pytorch
