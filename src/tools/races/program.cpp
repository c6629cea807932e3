// SPDX-License-Identifier: Apache-2.0
//
// Most accesses repeat one that is noted, and are done. Invariant: as program.hpp says.
#include "tools/races/program.hpp"

#include <dlfcn.h>
#include <pshmem.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "base/hooks/access_hooks.hpp"
#include "tools/races/accesses.hpp"
#include "tools/races/buffers.hpp"
#include "tools/races/noted.hpp"
#include "tools/races/state.hpp"
#include "tools/races/strands.hpp"

namespace meshmem::races {
namespace {

// Symmetric memory of a PE that this one can load from. own: where this PE has its own.
struct Mapping {
  std::uintptr_t begin;
  std::size_t bytes;
  std::uintptr_t own;
  int pe;
};
// By address. Lives for ever, as watches do: a destructor of the program may finalize.
auto& mappings = *new std::vector<Mapping>;
std::atomic<const Mapping*> last_mapping{nullptr};

// The value is loaded after the call that tells of it.
struct Watch {
  std::thread::id thread;
  int pe;
  Range range;
};
auto& watches = *new std::vector<Watch>;
std::atomic<bool> has_watches{false};

void map_peers(const TraceRange& own) {
  for (int pe = 0; pe < checker.job.n_pes && own.bytes != 0; ++pe)
    if (const void* copy = pshmem_ptr(reinterpret_cast<const void*>(own.base), pe))
      mappings.push_back({reinterpret_cast<std::uintptr_t>(copy), own.bytes, own.base, pe});
}

const Mapping* find_mapping(std::uintptr_t at) {
  const Mapping* last = last_mapping.load(std::memory_order_relaxed);
  if (last && at - last->begin < last->bytes) return last;
  auto behind =
      std::upper_bound(mappings.begin(), mappings.end(), at,
                       [](std::uintptr_t begin, const Mapping& one) { return begin < one.begin; });
  if (behind == mappings.begin()) return nullptr;
  const Mapping& mapping = *--behind;
  if (at - mapping.begin >= mapping.bytes) return nullptr;
  last_mapping.store(&mapping, std::memory_order_relaxed);
  return &mapping;
}

// ---- What the program calls

// All accesses between two calls have one number.
void take_number_between_calls() {
  if (self().is_between_calls) return;
  take_call_number();
  self().is_between_calls = true;
}

Range range_of(const Mapping& mapping, std::uintptr_t at, std::size_t bytes) {
  return *symmetric(mapping.own + (at - mapping.begin), bytes);
}

void watch(int pe, const Range& range) {
  watches.push_back({std::this_thread::get_id(), pe, range});
  has_watches = true;
}

bool is_plain(AccessKind kind) { return kind == AccessKind::load || kind == AccessKind::store; }

// Most of it takes no lock: the tables of threads are looked at by calls that have buffers.
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
  // A PE that sees it knows the calls before, and not those behind it.
  if (!is_plain(kind)) self().is_between_calls = false;
}

// Atomics and volatile accesses, also of memory in which other PEs see them.
void order_strands(const void* address, AccessKind kind) {
  acquire_what_is_due();
  if (kind == AccessKind::volatile_load)
    acquire_later(address);
  else if (!is_plain(kind))
    release_to(address);
}

void note(const void* address, std::size_t bytes, AccessKind kind, const void* caller) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const Mapping* mapping = find_mapping(at);
  if (bytes == 0) return;
  if (is_parallel()) order_strands(address, kind);
  if (!mapping) {
    if (may_be_buffer(at, bytes) || is_parallel()) note_own(at, bytes, kind, caller);
    return;
  }
  const bool may_repeat = is_plain(kind) && is_piece(at, bytes);
  const bool stores = kind == AccessKind::store;
  if (may_repeat && !has_watches && is_noted(piece_of(at, bytes), stores)) return;
  if (must_stay_out()) return;
  const Entered entered;
  if (!checker.is_open || checker.boards.head().orders_unseen) return;
  note_in(*mapping, range_of(*mapping, at, bytes), kind, caller);
  if (may_repeat) keep_noted(at, bytes, stores, caller);
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

void forget(void* begin, std::size_t bytes) {
  if (is_parallel() && !must_stay_out())
    forget_noted(reinterpret_cast<std::uintptr_t>(begin), bytes);
}

constexpr AccessHooks kHooks{.note = note,
                             .saw = saw,
                             .change_parallel = change_parallel,
                             .release = release_to,
                             .acquire = acquire_from,
                             .begin_strand = begin_strand,
                             .end_strand = end_strand,
                             .forget = forget};

constinit SetAccessHooks set_hooks = nullptr;

}  // namespace

bool watch_program() {
  set_hooks = reinterpret_cast<SetAccessHooks>(dlsym(RTLD_DEFAULT, kSetAccessHooksSymbol));
  if (!set_hooks) return false;
  last_mapping = nullptr;
  mappings.clear();
  watches.clear();
  has_watches = false;
  map_peers(checker.job.heap);
  map_peers(checker.job.statics);
  std::sort(mappings.begin(), mappings.end(),
            [](const Mapping& one, const Mapping& other) { return one.begin < other.begin; });
  set_hooks(&kHooks);
  return true;
}

void leave_program() {
  if (set_hooks) set_hooks(nullptr);
  n_parallel = 0;
}

// A load of another thread may still be to come, so it stays until that thread's next access.
void see_watched() {
  if (!has_watches) return;
  for (const Watch& watch : watches) see(watch.pe, watch.range, Unknown::nobody_else);
  std::erase_if(watches,
                [](const Watch& watch) { return watch.thread == std::this_thread::get_id(); });
  has_watches = !watches.empty();
}

}  // namespace meshmem::races
