// SPDX-License-Identifier: Apache-2.0
//
// The hooks that the program calls (AccessHooks). Most accesses repeat one that the shadow has, or
// need no clock. These take no lock of the checker. Invariant: as program.hpp says.
#include "tools/races/program.hpp"

#include <dlfcn.h>
#include <pshmem.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <thread>
#include <vector>

#include "base/hooks/access_hooks.hpp"
#include "tools/races/accesses.hpp"
#include "tools/races/buffers.hpp"
#include "tools/races/ledger.hpp"
#include "tools/races/noted.hpp"
#include "tools/races/phases.hpp"
#include "tools/races/state.hpp"
#include "tools/races/strands.hpp"

namespace meshmem::races {
namespace {

// A range of symmetric memory, of this PE or of a peer, as it is mapped here.
struct Mapping {
  std::uintptr_t begin;
  std::size_t bytes;
  std::size_t offset;  // of its shadow
  int pe;
  Shadow shadow;  // empty if the PE is of another node
};
// By address. Lives for ever, as watches do: a destructor of the program may finalize.
auto& mappings = *new std::vector<Mapping>;

// Places of blocks (RecentBlocks).
constexpr std::uintptr_t kBlock = RecentBlocks::kBlock, kNowhere = RecentBlocks::kNowhere,
                         kFirstMapping = 2;

// A volatile load, whose value is loaded after the call of the hook. So the checker looks later at
// what it may have seen.
struct Watch {
  std::thread::id thread;
  int pe;
  Range range;
};
auto& watches = *new std::vector<Watch>;

void map_peers(const TraceRange& own) {
  const Board& board = checker.boards.of_node();
  for (int pe = 0; pe < checker.job.n_pes && own.bytes != 0; ++pe)
    if (const void* copy = pshmem_ptr(reinterpret_cast<const void*>(own.base), pe))
      mappings.push_back({reinterpret_cast<std::uintptr_t>(copy), own.bytes,
                          symmetric(own.base, 1)->offset, pe,
                          board.has(pe) ? board.shadow(pe) : Shadow{}});
}

void forget_blocks() {
  for (auto& block : ledger.blocks.words) block = 0;
  ledger.blocks.gap = 0;
}

const Mapping* search_mapping(std::uintptr_t at) {
  const auto behind =
      std::upper_bound(mappings.begin(), mappings.end(), at,
                       [](std::uintptr_t begin, const Mapping& one) { return begin < one.begin; });
  const bool is_first = behind == mappings.begin();
  const Mapping* before = is_first ? nullptr : &*std::prev(behind);
  const bool is_in = before && at - before->begin < before->bytes;
  const std::uintptr_t end_before = before ? before->begin + before->bytes : 0;
  const std::uintptr_t begin = is_in ? before->begin : end_before;
  const std::uintptr_t begin_behind = behind == mappings.end() ? UINTPTR_MAX : behind->begin;
  const std::uintptr_t end = is_in ? end_before : begin_behind;
  const std::uintptr_t block = at & ~(kBlock - 1);
  const std::size_t place =
      is_in ? kFirstMapping + static_cast<std::size_t>(before - mappings.data()) : kNowhere;
  const bool has_shadow = !is_in || before->shadow.locks;
  if (begin <= block && end - block >= kBlock && place < kBlock && has_shadow)
    ledger.blocks.words[at / kBlock % ledger.blocks.words.size()].store(block | place,
                                                                        std::memory_order_relaxed);
  constexpr std::uintptr_t kUnit = RecentBlocks::kUnit;
  if (const std::uintptr_t first = begin / kUnit + 1; !is_in && at / kUnit >= first)
    ledger.blocks.gap.store(first << 32 | std::min<std::uintptr_t>(end / kUnit - first, UINT32_MAX),
                            std::memory_order_relaxed);
  return is_in ? before : nullptr;
}

const Mapping* find_mapping(std::uintptr_t at) {
  const std::uint64_t place = ledger.blocks.place_of(at);
  if (place == 0) return search_mapping(at);
  return place == kNowhere ? nullptr : &mappings[place - kFirstMapping];
}

// ---- What the program calls

// All the program's own accesses between two calls have one number, as long as the clock stays the
// same.
void take_number_between_calls() {
  if (self().is_between_calls && self().is_published) return;
  take_call_number();
  self().is_between_calls = true;
}

Range range_of(const Mapping& mapping, std::uintptr_t at, std::size_t bytes) {
  const std::size_t before = at - mapping.begin;
  return {mapping.offset + before, std::min(bytes, mapping.bytes - before)};
}

void watch(int pe, const Range& range) {
  watches.push_back({std::this_thread::get_id(), pe, range});
  has_watches = true;
  end_phase();
}

// The second word of this PE's loads; the rest of it differs.
std::uint64_t rest_of_loads = 0;

[[gnu::always_inline]] inline bool is_in(const Cell& cell, const Words& access) {
  for (const Slot& slot : cell.slots)
    if (slot.contains(access)) return access.numbers != 0;
  return false;
}

// Reads the clock without the mutex: its numbers only grow, and its memory stays where it is. At
// worst another thread of the strand has just learned something that this thread does not know.
[[gnu::noinline]] bool try_add(const Mapping& mapping, std::size_t cell, Words access,
                               const void* caller) {
  const bool stores = access.rest & Rest::kWrites;
  const bool tells = stores && checker.job.polls && mapping.pe != checker.job.pe;
  if (access.numbers == 0 || tells || must_stay_out()) return false;
  const std::uint64_t site = ledger.sites.find(caller, stores);
  access.rest |= site;
  if (site == 0 || !try_add_access(mapping.shadow, cell, access, my_clock())) return false;
  const auto added = std::bit_cast<Access>(access);
  const std::size_t begin = cell * Cell::kBytes + std::countr_zero(added.bytes);
  const auto bytes = static_cast<std::size_t>(std::popcount(added.bytes));
  return !meet_ledger(checker.boards.of_node(), mapping.shadow, {begin, bytes}, added, my_clock());
}

// Notes a load or store of bytes in one cell, by this strand, if it races with nothing there. As
// long as the strand neither calls nor learns, its accesses have the same numbers. So one that is
// in the cell stands for the next. This misses a race with an access that came between the two,
// knew the first, and left it in the cell.
[[gnu::always_inline]] inline bool try_note_piece(const Mapping& mapping, std::size_t offset,
                                                  std::size_t bytes, bool stores,
                                                  const void* caller) {
  const std::size_t cell = offset / Cell::kBytes, first = offset % Cell::kBytes;
  const Words access{self().next_access.load(std::memory_order_relaxed),
                     rest_of_loads + current_strand * Rest::kStrand +
                         bits_of_bytes(first, first + bytes) * Rest::kByte +
                         stores * Rest::kWrites};
  return is_in(mapping.shadow.cells[cell], access) || try_add(mapping, cell, access, caller);
}

bool try_note(const Mapping& mapping, const Range& range, bool stores, const void* caller) {
  if (!mapping.shadow.locks) return false;
  const std::size_t end = range.offset + range.bytes;
  for (std::size_t at = range.offset; at < end;) {
    const std::size_t here = std::min(Cell::kBytes - at % Cell::kBytes, end - at);
    if (!try_note_piece(mapping, at, here, stores, caller)) return false;
    at += here;
  }
  return true;
}

bool is_plain(AccessKind kind) { return kind == AccessKind::load || kind == AccessKind::store; }

// An access to this PE's memory that is not symmetric. Most of these take no lock: calls that use
// such memory look into the threads' tables (noted.hpp).
void note_own(std::uintptr_t at, std::size_t bytes, AccessKind kind, const void* caller) {
  const bool writes = kind != AccessKind::load && kind != AccessKind::volatile_load;
  if (is_plain(kind) && is_piece(at, bytes) && is_noted(piece_of(at, bytes), writes)) return;
  if (must_stay_out()) return;
  if (!self().is_between_calls) {
    const Entered entered;
    if (!checker.is_open) return;
    take_number_between_calls();
  }
  keep_noted(at, bytes, writes, caller);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // see access_own()
  if (!may_be_buffer(at, bytes)) return;
  const Entered entered;
  if (checker.is_open) access_own({caller, number_of(kind)}, at, bytes, {.writes = writes});
}

void note_in(const Mapping& mapping, const Range& range, AccessKind kind, const void* caller) {
  see_watched();
  if (kind == AccessKind::volatile_load) return watch(mapping.pe, range);
  take_number_between_calls();
  add_to_shadow({caller, number_of(kind)}, mapping.pe, range,
                {.writes = kind != AccessKind::load,
                 .manner = is_plain(kind) ? Manner::plain : Manner::atomic});
  // A PE that sees the value of an atomic knows the accesses before it, but not later ones. So
  // these get another number.
  Access next{};
  if (is_plain(kind)) {
    next.call_number = self().call_number;
    next.version = self().version;
  } else {
    self().is_between_calls = false;
  }
  self().next_access = words_of(next).numbers;
}

// Atomics and volatile accesses order the PE's strands, also if the memory is symmetric.
void order_strands(const void* address, AccessKind kind) {
  acquire_what_is_due();
  if (kind == AccessKind::volatile_load)
    acquire_later(address);
  else if (!is_plain(kind))
    release_to(address);
}

[[gnu::noinline]] void note_new(std::uintptr_t at, std::size_t bytes, AccessKind kind,
                                const void* caller) {
  const Mapping* mapping = find_mapping(at);
  if (bytes == 0) return;
  if (is_parallel()) order_strands(reinterpret_cast<const void*>(at), kind);
  if (!mapping) {
    if (may_be_buffer(at, bytes) || is_parallel()) note_own(at, bytes, kind, caller);
    return;
  }
  const Range range = range_of(*mapping, at, bytes);
  if (is_plain(kind) && !has_watches &&
      try_note(*mapping, range, kind == AccessKind::store, caller))
    return;
  if (must_stay_out()) return;
  const Entered entered;
  if (!checker.is_open || checker.boards.head().orders_unseen) return;
  note_in(*mapping, range, kind, caller);
}

// The fast path. Most accesses are of memory that is not symmetric, or repeat one that the shadow
// has, or come after accesses that this PE knows.
void note_access(std::uintptr_t at, std::size_t bytes, AccessKind kind, const void* caller) {
  const std::uint64_t place = ledger.blocks.place_of(at);
  if (place != 0 && is_plain(kind) && !is_parallel()) [[likely]] {
    if (place == kNowhere && !may_be_buffer(at, bytes)) return;
    if (place > kNowhere && is_piece(at, bytes) && !has_watches.load(std::memory_order_relaxed)) {
      const Mapping& mapping = mappings[place - kFirstMapping];
      const std::size_t offset = mapping.offset + (at - mapping.begin);
      if (writes_ledger && mapping.pe == checker.job.pe &&
          try_add_to_ledger(mapping.shadow, {offset, bytes}, kind == AccessKind::store, caller))
        return;
      if (try_note_piece(mapping, offset, bytes, kind == AccessKind::store, caller)) return;
    }
  }
  note_new(at, bytes, kind, caller);
}

Ledger* note(const void* address, std::size_t bytes, AccessKind kind, const void* caller) {
  note_access(reinterpret_cast<std::uintptr_t>(address), bytes, kind, caller);
  return writes_ledger ? &ledger : nullptr;
}

void saw(const void* address, std::size_t bytes) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const Mapping* mapping = find_mapping(at);
  acquire_from(address);
  if (!mapping || must_stay_out()) return;
  const Entered entered;
  if (!checker.is_open || checker.boards.head().orders_unseen) return;
  see(mapping->pe, range_of(*mapping, at, bytes), Unknown::nobody_else);
}

// The strand's last access may have been a load that waits.
void see_and_end_strand(const void* object) {
  if (has_watches && !must_stay_out()) {
    const Entered entered;
    if (checker.is_open) see_watched();
  }
  end_strand(object);
}

void forget(void* begin, std::size_t bytes) {
  if (is_parallel() && !must_stay_out())
    forget_noted(reinterpret_cast<std::uintptr_t>(begin), bytes);
}

void name(const void* caller, const char* text) {
  if (must_stay_out()) return;
  const Entered entered;
  name_caller(caller, text);
}

constexpr AccessHooks kHooks{.note = note,
                             .saw = saw,
                             .change_parallel = change_parallel,
                             .release = release_to,
                             .acquire = acquire_from,
                             .begin_strand = begin_strand,
                             .end_strand = see_and_end_strand,
                             .forget = forget,
                             .name_caller = name};

constinit SetAccessHooks set_hooks = nullptr;

}  // namespace

bool watch_program() {
  set_hooks = reinterpret_cast<SetAccessHooks>(dlsym(RTLD_DEFAULT, kSetAccessHooksSymbol));
  if (!set_hooks) return false;
  mappings.clear();
  forget_blocks();
  Access load{};
  load.pe = static_cast<std::uint16_t>(checker.job.pe);
  load.is_program = load.is_there = 1;
  rest_of_loads = words_of(load).rest;
  watches.clear();
  has_watches = false;
  map_peers(checker.job.heap);
  map_peers(checker.job.statics);
  prepare_ledger(checker.job.heap, checker.job.statics);
  std::sort(mappings.begin(), mappings.end(),
            [](const Mapping& one, const Mapping& other) { return one.begin < other.begin; });
  set_hooks(&kHooks);
  return true;
}

void leave_program() {
  if (set_hooks) set_hooks(nullptr);
  leave_ledger();
  n_parallel = 0;
}

// Learns from all watches, and removes those of this thread. Another thread may not have done its
// load yet, so its watch stays until that thread's next access.
void see_watched() {
  if (!has_watches) return;
  for (const Watch& watch : watches) see(watch.pe, watch.range, Unknown::nobody_else);
  std::erase_if(watches,
                [](const Watch& watch) { return watch.thread == std::this_thread::get_id(); });
  has_watches = !watches.empty();
}

}  // namespace meshmem::races
