// SPDX-License-Identifier: Apache-2.0
// How an L2 treats memory, by whose memory it is and of what kind; and how far an instruction
// reaches. The words of LLVM's AMDGPU usage, "Memory Model GFX90A" and "Memory Model GFX942".
// Invariant: memory has one treatment in a GPU as long as it is allocated. Decided by
// memory_kinds.cpp, used by the caches.
#pragma once

#include <cstddef>
#include <cstdint>

namespace amd_gpu {

enum class Caching : std::uint8_t {
  // MTYPE UC passes L2; MTYPE CC is written through, and writes of others invalidate L2's copy.
  kCoherent,
  // MTYPE RW, memory of this GPU: stores may stay in L2 until a write-back. Data that L2 has read
  // is never stale, since writes of others invalidate it.
  kOwn,
  // MTYPE NC, memory of another agent: as kOwn, but data that L2 has read may be stale until it is
  // invalidated.
  kOthers
};

// The threads for which an instruction makes its access, write-back or invalidation coherent.
enum class Scope : std::uint8_t { kBlock, kGpu, kSystem };

struct MemoryRange {
  std::uint64_t begin = 0, end = 0;
  Caching caching = Caching::kOwn;
  bool contains(std::uint64_t address) const { return address - begin < end - begin; }
};

// Finds the memory around an address, for kernels of that device.
using RangeAt = MemoryRange (*)(int device, std::uint64_t address);

// Remembers some ranges of a device. A kernel learns of new memory only by an acquire, so ranges
// are forgotten at the invalidation.
class KnownRanges {
 public:
  void begin(int device, RangeAt range_at) {
    device_ = device;
    range_at_ = range_at;
    forget();
  }
  void forget() {
    for (MemoryRange& range : ranges_) range = {};
  }
  Caching caching_of(std::uint64_t address) {
    for (const MemoryRange& range : ranges_)
      if (range.contains(address)) return range.caching;
    next_ = (next_ + 1) % kMost;
    return (ranges_[next_] = range_at_(device_, address)).caching;
  }

 private:
  static constexpr std::size_t kMost = 8;
  int device_ = 0;
  RangeAt range_at_ = nullptr;
  std::size_t next_ = 0;
  MemoryRange ranges_[kMost];
};

}  // namespace amd_gpu
