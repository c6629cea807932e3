// SPDX-License-Identifier: Apache-2.0
//
// The symmetric memory by which groups move tensors of ordinary memory. It is allocated with the
// first group, by all PEs, and divided into equal parts, one for each group.
// Invariant: the members of a group have the same part, which none of them uses for another group.
#pragma once
#include <shmemx.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

namespace meshmem::pytorch {

// Parts of one block of the host's or the device's heap.
class Stages {
 public:
  // Collective over all PEs. Allocates `count` parts (at most 64), or fewer if the heap is small.
  void open(std::size_t part_bytes, int count, long hints);
  bool is_open() const { return memory_ != nullptr; }
  // Collective over the team. kNone: the members have no free part in common.
  static constexpr int kNone = -1;
  int take(shmem_team_t team);
  void give_back(int part);  // not collective
  char* part(int number) const { return memory_ + static_cast<std::size_t>(number) * part_bytes_; }
  std::size_t part_bytes() const { return part_bytes_; }

 private:
  std::uint64_t free_parts(bool also_resting);

  std::mutex mutex_;  // of the free parts
  char* memory_ = nullptr;
  std::size_t part_bytes_ = 0;
  std::deque<int> free_;  // parts that were given back first are first
};

struct Memory {
  Stages host;
  Stages device;  // not open without GPUs

  // Collective over all PEs; only the first call does something.
  void open(bool has_gpus);
  // Collective over the team. Returns the bits that all members have in `mine`. The caller holds
  // `agreeing` until it has done what they agree on.
  std::uint64_t agree(shmem_team_t team, std::uint64_t mine);
  std::mutex agreeing;

 private:
  std::uint64_t* words_ = nullptr;  // symmetric: a source and a result
};
Memory& memory();

}  // namespace meshmem::pytorch
