// SPDX-License-Identifier: Apache-2.0
// Memory as late and as stale as CDNA2 and CDNA3 allow it to a compute unit, of which each block
// has one. Its vector and its scalar cache keep data that they have read until they are
// invalidated. Stores wait until the wave waits for them. Behind them is an L2 (l2.hpp). Used where
// MESHMEM_AMD_MEMORY=strict.
// Invariant: the waves of a block see its stores at once; those to one address keep their order.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <random>
#include <unordered_map>
#include <vector>

#include "l2.hpp"

namespace amd_gpu {

// A cache whose lines keep the data that was behind it when they were first read.
class LineCache {
 public:
  // At most 8 bytes, which may lie in two lines. behind(address): the 8 bytes that are there.
  template <typename Behind>
  std::uint64_t load(std::uint64_t address, unsigned bytes, const Behind& behind);
  // A store that has gone through also changes the line, if the cache has it.
  void update(std::uint64_t address, unsigned bytes, std::uint64_t value);
  void drop(std::uint64_t address) { lines_.erase(address / kLine); }
  void drop_all() { lines_.clear(); }

 private:
  static constexpr std::uint64_t kLine = 64;  // bytes
  using Line = std::array<std::uint8_t, kLine>;
  template <typename Behind>
  Line& line_of(std::uint64_t address, const Behind& behind);
  std::unordered_map<std::uint64_t, Line> lines_;
};

// LLVM's AMDGPU usage, "Memory Model GFX90A" and "Memory Model GFX942".
class WeakMemory {
 public:
  // Begins a block of a kernel on that device, with empty caches.
  void begin(unsigned seed, L2& l2, int device, RangeAt range_at);

  std::uint64_t load(std::uint64_t address, unsigned bytes, Scope scope);
  std::uint32_t load_scalar(std::uint64_t address);
  struct Store {
    unsigned wave;
    std::uint64_t issue;  // the number of the wave's instruction among those that access memory
    std::uint64_t address, value;
    unsigned bytes;
    Scope scope;
    bool overlaps(std::uint64_t from, unsigned count) const {
      return address < from + count && from < address + bytes;
    }
  };
  void store(const Store& store);
  // Lets the block's stores to that place arrive. Returns the L2 if that does the atomic operation,
  // or null if memory does.
  L2* before_atomic(std::uint64_t address, unsigned bytes, Scope scope);
  Caching caching_of(std::uint64_t address) { return ranges_.caching_of(address); }

  // Returns when the wave's stores up to the one of this number are in L2, or in memory where their
  // scope passes it, and such write-backs are over.
  void wait(unsigned wave, std::uint64_t last_issue);
  // Sends the dirty data of L2, and the wave's stores, on the way to memory: an instruction of that
  // number, to be awaited as a store.
  void write_back(unsigned wave, std::uint64_t issue, Scope scope);
  // A block ends when all that it has stored has arrived.
  void end();
  // Time passes: by chance, in one of `one_in` calls, an eighth of the stores arrives.
  void let_some_arrive(unsigned one_in);
  void invalidate(Scope scope);
  void invalidate_l2();
  void invalidate_scalar() { scalar_cache_.drop_all(); }

 private:
  bool may_be_pending(std::uint64_t address, unsigned bytes) const;
  void arrive(std::size_t n);
  std::uint64_t load_behind(std::uint64_t address, unsigned bytes, Scope scope) {
    return l2_->load(address, bytes, caching_of(address), scope);
  }

  struct WriteBack {
    unsigned wave;
    std::uint64_t issue, begun;
  };
  L2* l2_ = nullptr;
  KnownRanges ranges_;
  LineCache vector_cache_, scalar_cache_;
  std::vector<Store> pending_;  // the oldest first
  std::vector<WriteBack> write_backs_;
  std::bitset<4096> words_;  // where no bit is set, no store is pending
  std::minstd_rand random_;
};

}  // namespace amd_gpu
