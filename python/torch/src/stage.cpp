// SPDX-License-Identifier: Apache-2.0
//
// Allocation of stages, and how a team's members agree on a free one.
// Invariant: PEs agree by a reduction of their sets of free parts, so all find the same part, or
// all find none.
#include "stage.hpp"

#include <c10/util/Exception.h>

#include <algorithm>
#include <bit>

namespace meshmem::pytorch {
namespace {

constexpr std::size_t kHostPart = std::size_t{10} << 20, kDevicePart = std::size_t{32} << 20;
constexpr int kHostParts = 64, kDeviceParts = 16;
// The parts that were given back last are not taken if there are others: a member that is late may
// still read them.
constexpr std::size_t kResting = 8;

}  // namespace

void Stages::open(std::size_t part_bytes, int count, long hints) {
  part_bytes_ = part_bytes;
  for (; count > 0 && !memory_; count /= 2) {
    const std::size_t bytes = part_bytes * static_cast<std::size_t>(count);
    memory_ = static_cast<char*>(shmemx_align_with_hints(4096, bytes, hints));
    for (int i = 0; memory_ && i < count; ++i) free_.push_back(i);
  }
}

std::uint64_t Stages::free_parts(bool also_resting) {
  const std::lock_guard lock(mutex_);
  const std::size_t n_resting = also_resting || free_.size() <= kResting ? 0 : kResting;
  std::uint64_t parts = 0;
  for (std::size_t i = 0; i < free_.size() - n_resting; ++i) parts |= std::uint64_t{1} << free_[i];
  return parts;
}

int Stages::take(shmem_team_t team) {
  const std::lock_guard agreeing(memory().agreeing);
  for (const bool is_last_try : {false, true}) {
    const std::uint64_t free = memory().agree(team, free_parts(is_last_try));
    if (free == 0) continue;
    const int part = std::countr_zero(free);
    const std::lock_guard lock(mutex_);
    free_.erase(std::find(free_.begin(), free_.end(), part));
    return part;
  }
  return kNone;
}

void Stages::give_back(int part) {
  const std::lock_guard lock(mutex_);
  free_.push_back(part);
}

void Memory::open(bool has_gpus) {
  if (host.is_open()) return;
  if (!words_)
    words_ = static_cast<std::uint64_t*>(shmem_malloc_with_hints(64, SHMEMX_MALLOC_HOST));
  host.open(kHostPart, kHostParts, SHMEMX_MALLOC_HOST);
  if (has_gpus) device.open(kDevicePart, kDeviceParts, SHMEMX_MALLOC_DEVICE);
  TORCH_CHECK(words_ && host.is_open(),
              "meshmem: the symmetric heap is too small for PyTorch; set SHMEM_SYMMETRIC_SIZE to "
              "32m or more");
}

std::uint64_t Memory::agree(shmem_team_t team, std::uint64_t mine) {
  words_[0] = mine;
  shmem_uint64_and_reduce(team, &words_[1], &words_[0], 1);
  return words_[1];
}

Memory& memory() {
  static Memory& instance = *new Memory;  // lives for ever: groups may end after it
  return instance;
}

}  // namespace meshmem::pytorch
