// SPDX-License-Identifier: Apache-2.0
//
// Each thread's newest loads and stores of memory that is not symmetric, by 8 bytes. A call that
// uses such memory finds here what other strands have done with it.
// Invariant: an access that a strand repeats in one epoch, with the same call number and clock, is
// not noted again. Any access that races with it also races with the noted one. Only find_noted()
// reads tables of other threads.
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

// The bytes of an access, all in one cell.
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

// A thread's accesses to one cell in one epoch. The caller is that of the first store, or of the
// first load if it has not stored. Only this thread writes it. The epoch is 0 while cell, number or
// strand change.
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

// Returns a noted access by another strand that races with this one, which the caller is about to
// add. The caller holds the checker's mutex.
std::optional<Access> find_noted(std::uint64_t address, std::size_t bytes, const Access& access);

// The memory was freed, so a strand that uses it next need not know of earlier accesses. The second
// function forgets only entries of this thread's table.
void forget_noted(std::uint64_t address, std::size_t bytes);
void forget_noted_here(std::uint64_t begin, std::uint64_t end);
void forget_all_noted();
// True if the memory was freed after the access of this number.
bool is_gone(std::uint64_t address, std::uint32_t call_number);

}  // namespace meshmem::races

#endif  // MESHMEM_TOOLS_RACES_NOTED_HPP_
