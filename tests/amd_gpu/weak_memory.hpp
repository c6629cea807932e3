// SPDX-License-Identifier: Apache-2.0
// Memory as late and as stale as CDNA2 and CDNA3 allow it to a compute unit, here one for each
// block: its vector and its scalar cache keep what they have read until they are invalidated, and
// stores wait until the wave waits for them. Used where MESHMEM_AMD_MEMORY=strict.
// Invariant: the waves of a block see its stores at once; those to one address keep their order.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <random>
#include <unordered_map>
#include <vector>

namespace amd_gpu {

// Of what memory held when the line was first read.
class LineCache {
 public:
  // At most 8 bytes, which may lie in two lines.
  std::uint64_t load(std::uint64_t address, unsigned bytes);
  // What has gone through to memory is in a line too that is there.
  void update(std::uint64_t address, unsigned bytes, std::uint64_t value);
  void drop(std::uint64_t address) { lines_.erase(address / kLine); }
  void drop_all() { lines_.clear(); }

 private:
  static constexpr std::uint64_t kLine = 64;  // bytes
  using Line = std::array<std::uint8_t, kLine>;
  Line& line_of(std::uint64_t address);
  std::unordered_map<std::uint64_t, Line> lines_;
};

// LLVM's AMDGPU usage, "Memory Model GFX90A": all compute units have one L2, which is not modelled.
// "Memory Model GFX942": blocks may have an L2 each. What it has read is here in the vector cache;
// stores whose scope is the block stay in it when they have been awaited, until a write-back.
class WeakMemory {
 public:
  // A kernel begins with empty caches.
  void begin(unsigned seed);

  std::uint64_t load(std::uint64_t address, unsigned bytes, bool passes_cache);
  std::uint32_t load_scalar(std::uint64_t address);
  struct Store {
    unsigned wave;
    std::uint64_t issue;  // the number of the wave's instruction among those that access memory
    std::uint64_t address, value;
    unsigned bytes;
    bool stays_in_l2;
    bool overlaps(std::uint64_t from, unsigned count) const {
      return address < from + count && from < address + bytes;
    }
  };
  void store(const Store& store);
  // Atomic operations are done in memory: what the block has stored there comes first.
  void before_atomic(std::uint64_t address, unsigned bytes);

  // Returns when the wave's stores up to the one of this number are in memory, or in L2.
  void wait(unsigned wave, std::uint64_t last_issue);
  // Sends what is in L2, and what the wave has stored, on the way to memory: an instruction of that
  // number, to be awaited as a store.
  void write_back(unsigned wave, std::uint64_t issue);
  // A kernel ends when all that it has stored is in memory.
  void end();
  // Time passes: once in so many calls, by chance, an eighth of the stores arrives.
  void let_some_arrive(unsigned one_in);
  void invalidate() { vector_cache_.drop_all(); }
  void invalidate_scalar() { scalar_cache_.drop_all(); }

 private:
  bool may_be_pending(std::uint64_t address, unsigned bytes) const;
  void arrive(std::size_t n);

  LineCache vector_cache_, scalar_cache_;
  std::vector<Store> pending_;  // the oldest first
  std::bitset<4096> words_;     // whose bits say which words may be pending
  std::minstd_rand random_;
};

}  // namespace amd_gpu
