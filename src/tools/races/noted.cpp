// SPDX-License-Identifier: Apache-2.0
//
// A table for each thread. If a thread ends, a later thread takes over its table with its entries.
// Invariant: as noted.hpp says.
#include "tools/races/noted.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "base/hooks/access_hooks.hpp"
#include "tools/races/report.hpp"

namespace meshmem::races {

constinit thread_local NotedTable* noted_here = nullptr;

namespace {

// Live for ever: a destructor of the program may finalize.
auto& tables_mutex = *new std::mutex;
constinit NotedTable* tables = nullptr;

// For each line of 64 bytes, the number of the last call before memory there was freed. If lines
// share an entry, it has the larger number. This may hide races and invents none.
constexpr std::size_t kLine = 64, kLines = std::size_t{1} << 16;
auto& gone = *new std::array<std::atomic<std::uint32_t>, kLines>();

// The same for the last large pieces of memory, such as stacks. As lines they would fill the table.
struct GonePiece {
  std::uint64_t begin = 0, end = 0;
  std::uint32_t call_number = 0;
};
constexpr std::size_t kLargePiece = 256 * kLine, kGonePieces = 64;
auto& gone_pieces_mutex = *new std::mutex;
auto& gone_pieces = *new std::array<GonePiece, kGonePieces>();
std::size_t next_gone_piece = 0;

void note_gone_lines(const GonePiece& piece) {
  const std::uint64_t first = piece.begin / kLine, end = piece.end / kLine + 1;
  for (std::uint64_t line = first; line < end && line - first < kLines; ++line) {
    auto& highest = gone[line % kLines];
    std::uint32_t found = highest.load(std::memory_order_relaxed);
    while (found < piece.call_number &&
           !highest.compare_exchange_weak(found, piece.call_number, std::memory_order_relaxed)) {
    }
  }
}

// Called as the destructor of a pthread key, since destructors of the program's variables and keys
// still note accesses. If one of them takes a table after this, the next round of keys gives that
// one back.
void give_back(void*) {
  if (!noted_here) return;
  const std::lock_guard lock(tables_mutex);
  noted_here->has_thread = false;
  noted_here = nullptr;
}
pthread_key_t make_key() {
  pthread_key_t key;
  if (pthread_key_create(&key, give_back) != 0) std::abort();
  return key;
}

// Does not use `new`: the program may replace it, and the hooks of that code's accesses come here.
NotedTable* make_table(NotedTable* next) {
  void* const memory =
      mmap(nullptr, sizeof(NotedTable), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  auto* const table = new (memory) NotedTable;
  table->next = next;
  return table;
}

NotedTable& take_table() {
  static const pthread_key_t key = make_key();
  pthread_setspecific(key, &tables);
  const std::lock_guard lock(tables_mutex);
  for (NotedTable* table = tables; table; table = table->next)
    if (!table->has_thread) {
      table->has_thread = true;
      return *table;
    }
  return *(tables = make_table(tables));
}

void keep(Noted& last, const Piece& piece, bool stores, const void* caller) {
  const Strand& mine = self();
  const std::uint32_t epoch = mine.epoch;
  if (last.cell != piece.cell || last.epoch != epoch) {
    last.epoch.store(0, std::memory_order_relaxed);
    // A thread that finds one of the stores below also finds the 0 when it looks again.
    std::atomic_thread_fence(std::memory_order_release);
    last.cell.store(piece.cell, std::memory_order_relaxed);
    last.call_number.store(mine.call_number, std::memory_order_relaxed);
    last.strand.store(static_cast<std::uint8_t>(current_strand), std::memory_order_relaxed);
    last.caller.store(caller, std::memory_order_relaxed);
    last.loaded.store(stores ? 0 : piece.bytes, std::memory_order_relaxed);
    last.stored.store(stores ? piece.bytes : 0, std::memory_order_relaxed);
    last.epoch.store(epoch, std::memory_order_release);
    return;
  }
  auto& bits = stores ? last.stored : last.loaded;
  // A report names the store, if there is one.
  if (stores && bits.load(std::memory_order_relaxed) == 0)
    last.caller.store(caller, std::memory_order_relaxed);
  bits.store(static_cast<std::uint8_t>(bits.load(std::memory_order_relaxed) | piece.bytes),
             std::memory_order_relaxed);
}

// The access of the program that is noted there, if this one races with it.
std::optional<Access> race_with(const Noted& noted, const Piece& piece, const Access& access) {
  const std::uint32_t epoch = noted.epoch.load(std::memory_order_acquire);
  const std::uint8_t stored = noted.stored.load(std::memory_order_relaxed) & piece.bytes;
  const std::uint8_t loaded = noted.loaded.load(std::memory_order_relaxed) & piece.bytes;
  Access found{};
  found.call_number = noted.call_number.load(std::memory_order_relaxed);
  found.row = noted.strand.load(std::memory_order_relaxed);
  found.pe = access.pe;
  found.writes = stored != 0;
  found.is_program = 1;
  const void* caller = noted.caller.load(std::memory_order_relaxed);
  const std::uintptr_t cell = noted.cell.load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  const bool is_whole = epoch != 0 && noted.epoch.load(std::memory_order_relaxed) == epoch;
  if (!is_whole || cell != piece.cell || !(stored || (loaded && access.writes)) ||
      my_clock().knows(access.who(), found) || is_gone(cell * Cell::kBytes, found.call_number))
    return std::nullopt;
  const AccessKind kind = stored ? AccessKind::store : AccessKind::load;
  found.site = static_cast<std::uint16_t>(
      site_of(checker.boards.mine(), checker.job, {caller, number_of(kind)}));
  return found;
}

}  // namespace

void keep_noted(std::uintptr_t at, std::size_t bytes, bool stores, const void* caller) {
  if (!noted_here) noted_here = &take_table();
  const std::uintptr_t end = at + bytes;
  at = std::max(at, end - std::min(end, NotedTable::kNoted * Cell::kBytes));
  while (at < end) {
    const std::size_t here = std::min<std::size_t>(Cell::kBytes - at % Cell::kBytes, end - at);
    const Piece piece = piece_of(at, here);
    keep(noted_here->all[piece.cell % NotedTable::kNoted], piece, stores, caller);
    at += here;
  }
}

std::optional<Access> find_noted(std::uint64_t address, std::size_t bytes, const Access& access) {
  const std::lock_guard lock(tables_mutex);
  const std::uint64_t last = address + bytes;
  for (const NotedTable* table = tables; table; table = table->next) {
    for (std::uint64_t at = address, cells = 0; at < last && cells < NotedTable::kNoted; ++cells) {
      const std::size_t here = std::min<std::size_t>(Cell::kBytes - at % Cell::kBytes, last - at);
      const Piece piece = piece_of(at, here);
      const bool is_private = table == noted_here && is_private_here(at);
      const Noted& noted = table->all[piece.cell % NotedTable::kNoted];
      if (!is_private && noted.cell.load(std::memory_order_relaxed) == piece.cell)
        if (const auto race = race_with(noted, piece, access)) return race;
      at += here;
    }
  }
  return std::nullopt;
}

void forget_noted(std::uint64_t address, std::size_t bytes) {
  const GonePiece piece{address, address + bytes, checker.last_call};
  if (bytes < kLargePiece) return note_gone_lines(piece);
  const std::lock_guard lock(gone_pieces_mutex);
  GonePiece& oldest = gone_pieces[next_gone_piece++ % kGonePieces];
  if (oldest.end != 0) note_gone_lines(oldest);
  oldest = piece;
}

void forget_noted_here(std::uint64_t begin, std::uint64_t end) {
  if (!noted_here) return;
  for (Noted& noted : noted_here->all) {
    const std::uintptr_t at = noted.cell.load(std::memory_order_relaxed) * Cell::kBytes;
    if (begin <= at && at < end) noted.epoch = 0;
  }
}

void forget_all_noted() {
  const std::lock_guard lock(tables_mutex);
  for (NotedTable* table = tables; table; table = table->next)
    for (Noted& noted : table->all) noted.epoch = 0;
  for (auto& line : gone) line = 0;
  const std::lock_guard pieces_lock(gone_pieces_mutex);
  gone_pieces.fill({});
}

bool is_gone(std::uint64_t address, std::uint32_t call_number) {
  if (call_number <= gone[address / kLine % kLines].load(std::memory_order_relaxed)) return true;
  const std::lock_guard lock(gone_pieces_mutex);
  return std::any_of(gone_pieces.begin(), gone_pieces.end(), [&](const GonePiece& piece) {
    return piece.begin <= address && address < piece.end && call_number <= piece.call_number;
  });
}

}  // namespace meshmem::races
