// SPDX-License-Identifier: Apache-2.0
// An L2 as late and as stale as LLVM's AMDGPU usage allows it to be. By "Memory Model GFX90A" a GPU
// has one for all of its blocks; by "Memory Model GFX942" blocks may have one each.
// Invariant: data that it does not hold is in memory. An aligned access of up to 8 bytes is
// single-copy atomic for all blocks of that L2. Behind the caches of weak_memory.hpp.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <deque>
#include <mutex>
#include <random>
#include <unordered_map>

#include "caching.hpp"

namespace amd_gpu {

// At most 8 bytes of memory itself, by accesses that are single-copy atomic where they are aligned.
std::uint64_t load_from_memory(std::uint64_t address, unsigned bytes);
void store_to_memory(std::uint64_t address, unsigned bytes, std::uint64_t value);

class L2 {
 public:
  // `serves`: for whom it is the only one, kBlock or kGpu. Wider scopes have to pass it.
  explicit L2(Scope serves) : serves_(serves) {}

  std::uint64_t load(std::uint64_t address, unsigned bytes, Caching caching, Scope scope);
  void store(std::uint64_t address, unsigned bytes, std::uint64_t value, Caching caching,
             Scope scope);

  // Whether it does an atomic operation there itself. If not, it no longer holds that line.
  bool does_atomics(std::uint64_t address, Caching caching, Scope scope);
  // Does that operation: replaces the old value by next(old), and returns the old value.
  template <typename Next>
  std::uint64_t replace(std::uint64_t address, unsigned bytes, Caching caching, Next next);

  bool is_passed_by(Scope scope) const { return scope > serves_; }
  // Forgets its copies of other agents' memory.
  void invalidate();
  // A write-back sends all earlier stores, which are in memory when it is over.
  std::uint64_t begin_write_back();
  void end_write_back(std::uint64_t begun);
  // A kernel begins with nothing stale, and ends when all is in memory.
  void begin_kernel() { invalidate(); }
  void end_kernel() { end_write_back(begin_write_back()); }
  // Time passes: an eighth of the stores that wait for a write-back goes.
  void let_some_be_written(std::minstd_rand& random);

 private:
  static constexpr std::uint64_t kLine = 128;  // bytes: CDNA2 ISA, "Memory scopes", L2
  struct Line {
    std::array<std::uint8_t, kLine> bytes;
    std::bitset<kLine> has, is_dirty;  // dirty bytes are among those that it has
    std::uint64_t dirty_since = 0;     // `since` of its entry in dirty_
    Caching caching;
  };
  struct Dirty {
    std::uint64_t since, line;
  };
  Line& line_of(std::uint64_t address, Caching caching);
  Line* find(std::uint64_t address);
  std::uint64_t load_in_line(std::uint64_t address, unsigned bytes, Caching caching, Scope scope);
  void store_in_line(std::uint64_t address, unsigned bytes, std::uint64_t value, Caching caching,
                     Scope scope);
  void write(std::uint64_t number, Line& line);
  void clean(const Dirty& dirty);

  const Scope serves_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, Line> lines_;
  std::deque<Dirty> dirty_;  // in order; some lines have been written since
  std::uint64_t stores_ = 0;
  bool may_be_stale_ = false;
};

template <typename Next>
std::uint64_t L2::replace(std::uint64_t address, unsigned bytes, Caching caching, Next next) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t before = load_in_line(address, bytes, caching, serves_);
  store_in_line(address, bytes, next(before), caching, serves_);
  return before;
}

}  // namespace amd_gpu
