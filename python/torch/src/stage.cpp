// SPDX-License-Identifier: Apache-2.0
//
// Allocation of stages, and how a team's members agree on a free one.
// Invariant: PEs agree by a reduction of their sets of free parts, so all find the same part, or
// all find none.
#include "stage.hpp"

#include <c10/util/Exception.h>
#include <unistd.h>

#include <bit>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace meshmem::pytorch {
namespace {

constexpr std::size_t kHostPart = std::size_t{10} << 20, kDevicePart = std::size_t{32} << 20;
constexpr int kHostParts = 64, kDeviceParts = 16;
// How often, and at what interval, a member looks for a part that others are about to leave.
constexpr int kTries = 1000;
constexpr std::chrono::milliseconds kInterval{5};
constexpr std::size_t kMarkWord = 2;
constexpr std::uint64_t kMark = 0x6d657368'746f7263;  // the next job's heap begins as zeros

}  // namespace

void Stages::open(std::size_t part_bytes, int count, long hints) {
  part_bytes_ = part_bytes;
  const std::size_t words_bytes = static_cast<std::size_t>(count) * sizeof *n_left_;
  n_left_ = static_cast<std::uint64_t*>(shmem_malloc_with_hints(words_bytes, SHMEMX_MALLOC_HOST));
  if (!n_left_) return;
  std::memset(n_left_, 0, words_bytes);
  for (; count > 0 && !memory_; count /= 2) {
    const std::size_t bytes = part_bytes * static_cast<std::size_t>(count);
    memory_ = static_cast<char*>(shmemx_align_with_hints(4096, bytes, hints));
    if (memory_) free_ = ~std::uint64_t{0} >> (64 - count);
  }
}

// Tells the members once that this PE has left. A message of this PE's is there before the word.
bool Stages::is_left(Leaving& part) {
  std::uint64_t* const n_left = &n_left_[part.part];
  if (!part.has_left && part.is_done()) {
    part.has_left = true;
    shmem_quiet();
    for (const int pe : part.pes) shmem_uint64_atomic_inc(n_left, pe);
  }
  return part.has_left && shmem_uint64_atomic_fetch(n_left, shmem_my_pe()) == part.pes.size();
}

// No member adds to the word before the part's next group, which needs this PE.
void Stages::free_left_parts() {
  std::erase_if(leaving_, [this](Leaving& part) {
    if (!is_left(part)) return false;
    shmem_uint64_atomic_set(&n_left_[part.part], 0, shmem_my_pe());
    free_ |= std::uint64_t{1} << part.part;
    return true;
  });
}

Stages::Parts Stages::find_parts() {
  const std::lock_guard lock(mutex_);
  free_left_parts();
  Parts found{free_, 0};
  for (const Leaving& part : leaving_) found.leaving |= std::uint64_t{1} << part.part;
  return found;
}

int Stages::take(shmem_team_t team) {
  const std::lock_guard agreeing(memory().agreeing);
  for (int i = 0; i < kTries; ++i) {
    const Parts mine = find_parts();
    if (const std::uint64_t free = memory().agree(team, mine.free)) {
      const std::lock_guard lock(mutex_);
      free_ &= ~(free & -free);
      return std::countr_zero(free);
    }
    if (!memory().agree(team, mine.free | mine.leaving)) break;
    std::this_thread::sleep_for(kInterval);
  }
  return kNone;
}

void Stages::give_back(int part, std::vector<int> pes, std::function<bool()> is_done) {
  const std::lock_guard lock(mutex_);
  leaving_.push_back({part, std::move(pes), std::move(is_done)});
  free_left_parts();
}

void Memory::open(bool has_gpus) {
  if (host.is_open()) return;
  if (!words_)
    words_ = static_cast<std::uint64_t*>(shmem_malloc_with_hints(64, SHMEMX_MALLOC_HOST));
  host.open(kHostPart, kHostParts, SHMEMX_MALLOC_HOST);
  TORCH_CHECK(words_ && host.is_open(),
              "meshmem: the symmetric heap is too small for PyTorch; set SHMEM_SYMMETRIC_SIZE to "
              "32m or more");
  words_[kMarkWord] = kMark;
  process_ = ::getpid();
  const std::lock_guard lock(agreeing);
  if (agree(SHMEM_TEAM_WORLD, has_gpus))  // all ranks have GPUs
    device.open(kDevicePart, kDeviceParts, SHMEMX_MALLOC_DEVICE);
}

bool Memory::is_of_this_job() const {
  int is_started = 0;
  shmem_query_initialized(&is_started);
  return is_started && ::getpid() == process_ && shmem_addr_accessible(words_, shmem_my_pe()) &&
         words_[kMarkWord] == kMark;
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
