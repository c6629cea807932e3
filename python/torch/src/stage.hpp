// SPDX-License-Identifier: Apache-2.0
//
// The symmetric memory by which groups move tensors of ordinary memory. It is allocated with the
// first group, by all PEs, and divided into equal parts, one for each group.
// Invariant: the members of a group have the same part. A member uses it for another group only
// after all members have left it, since a late one may still read it, or send messages there.
#pragma once
#include <shmemx.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
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
  // Not collective. `pes`: the group's members. `is_done`: whether the device has done all that
  // this PE has begun there.
  void give_back(int part, std::vector<int> pes, std::function<bool()> is_done);
  char* part(int number) const { return memory_ + static_cast<std::size_t>(number) * part_bytes_; }
  std::size_t part_bytes() const { return part_bytes_; }

 private:
  // A part that this PE has given back, while other members may still use it.
  struct Leaving {
    int part;
    std::vector<int> pes;
    std::function<bool()> is_done;
    bool has_left = false;  // and has told the members
  };
  // Sets of parts, one bit for each.
  struct Parts {
    std::uint64_t free, leaving;
  };
  Parts find_parts();
  void free_left_parts();
  bool is_left(Leaving& part);

  std::mutex mutex_;  // of the next two
  std::uint64_t free_ = 0;
  std::vector<Leaving> leaving_;
  char* memory_ = nullptr;
  std::size_t part_bytes_ = 0;
  std::uint64_t* n_left_ = nullptr;  // symmetric, of the host: members that have left each part
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
  // False after shmem_finalize, also in the process's next job, and in a child of fork.
  bool is_of_this_job() const;

 private:
  std::uint64_t* words_ = nullptr;  // symmetric: a source, a result, and a mark
  pid_t process_ = 0;
};
Memory& memory();

}  // namespace meshmem::pytorch
