// SPDX-License-Identifier: Apache-2.0
//
// The newest loads and stores of each thread of memory that is not symmetric, by 8 bytes. They say
// which of it other strands have used.
// Invariant: an access counts as repeated as long as neither the call number of its strand nor its
// clock changes. Anything that would race with the next access then races with the one that was
// noted. Only find_noted() reads tables of other threads.
#ifndef MESHMEM_TOOLS_RACES_NOTED_HPP_
#define MESHMEM_TOOLS_RACES_NOTED_HPP_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "tools/races/board.hpp"
#include "tools/races/state.hpp"

namespace meshmem::races {

struct Piece {
  std::uintptr_t cell;
  std::uint8_t bytes;  // a bit for each
};
inline Piece piece_of(std::uintptr_t at, std::size_t bytes) {
  const std::size_t first = at % Cell::kBytes;
  return {at / Cell::kBytes, bits_of_bytes(first, first + bytes)};
}
inline bool is_piece(std::uintptr_t at, std::size_t bytes) {
  return bytes - 1 < Cell::kBytes - at % Cell::kBytes;  // not of no bytes
}

// Written by one thread. The epoch is 0 while the rest changes.
struct Noted {
  std::atomic<std::uint32_t> epoch{0}, call_number{0};
  std::atomic<std::uintptr_t> cell{0};
  std::atomic<const void*> caller{nullptr};
  std::atomic<std::uint8_t> loaded{0}, stored{0}, strand{0};  // a bit for each byte
};
struct NotedTable {
  static constexpr std::size_t kNoted = 8192;
  std::array<Noted, kNoted> all;
  bool has_thread = true;
  NotedTable* next = nullptr;
};
extern constinit thread_local NotedTable* noted_here;  // nullptr: none yet

inline bool is_noted(const Piece& piece, bool stores) {
  if (!noted_here) return false;
  const Noted& last = noted_here->all[piece.cell % NotedTable::kNoted];
  const unsigned stored = last.stored.load(std::memory_order_relaxed);
  const unsigned covered = stores ? stored : stored | last.loaded.load(std::memory_order_relaxed);
  return last.cell.load(std::memory_order_relaxed) == piece.cell &&
         last.epoch.load(std::memory_order_relaxed) ==
             self().epoch.load(std::memory_order_relaxed) &&
         !(piece.bytes & ~covered);
}
void keep_noted(std::uintptr_t at, std::size_t bytes, bool stores, const void* caller);

// An access of another strand to memory of this PE that races with this one, which the caller is
// about to add. The caller holds the checker's mutex.
std::optional<Access> find_noted(std::uint64_t address, std::size_t bytes, const Access& access);

// The memory is free: a strand that uses it next need not know of accesses before. The second is
// for this thread's own table.
void forget_noted(std::uint64_t address, std::size_t bytes);
void forget_noted_here(std::uint64_t begin, std::uint64_t end);
void forget_all_noted();
// Whether an access of this number was to memory that is gone.
bool is_gone(std::uint64_t address, std::uint32_t call_number);

}  // namespace meshmem::races

#endif  // MESHMEM_TOOLS_RACES_NOTED_HPP_
