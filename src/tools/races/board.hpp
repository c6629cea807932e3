// SPDX-License-Identifier: Apache-2.0
//
// The race checker's board: shared memory in which the PEs of a node record what they have
// accessed. Each PE has a part with the shadow of its symmetric memory, its clocks and call sites.
// Invariant: a part has one mutex, and its shadow has locks. A thread holds only one of all these
// at a time. Pages that nobody touches take no memory. Used by boards, and by the checker for this
// PE's own part.
#ifndef MESHMEM_TOOLS_RACES_BOARD_HPP_
#define MESHMEM_TOOLS_RACES_BOARD_HPP_

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/hooks/ledger.hpp"
#include "base/hooks/trace_job.hpp"

namespace meshmem::races {

// Says what completes an access, so that it comes before later accesses. A clock has a number for
// each order of each row of each PE.
enum class Order : std::uint8_t {
  program,   // it is done when the call returns
  put,       // done for others at fence or quiet
  signaled,  // as put, and done for a PE that has seen the signal of the same call
  pending    // done at quiet, for its own PE too
};
inline constexpr unsigned kOrders = 4;

enum class Manner : std::uint8_t {
  plain,
  atomic,  // races with plain accesses, and with atomics of other types
  sync,    // a variable that the library itself keeps, such as a lock; races with nothing
  // As atomic. Of a write that begins: it sets the value that its strand has set there before, and
  // the strand has learned nothing since. In a cell: a later write of the value may replace it.
  repeat
};

// A strand of a PE: a thread, or a section or task of OpenMP. Only synchronization orders it with
// the PE's other strands. Strand 0 stands for all threads that the checker cannot tell apart.
struct Worker {
  int pe;
  unsigned strand;
  bool operator==(const Worker&) const = default;
};
inline constexpr unsigned kMaxStrands = 32;
// The numbers of a clock are in rows. Row `strand` is for what is done on return, for the default
// context, and for contexts for which no number is left. A strand's work for context c, from 1 on,
// is in row c * kMaxStrands + strand.
inline constexpr unsigned kMaxContexts = 8;
// The most strands of all PEs together. A clock of more would not fit into one question (boards),
// so larger jobs tell fewer strands of a PE apart.
inline constexpr std::size_t kMostWorkers = 3000;

// An access, as a cell remembers it. call_number: which of its PE's calls made it. version: of the
// clock that its strand had then.
struct Access {
  std::uint32_t call_number;
  std::uint32_t version;
  std::uint16_t site;
  std::uint16_t pe;
  std::uint8_t row;    // of its strand and context
  std::uint8_t bytes;  // a bit for each byte of the cell
  std::uint8_t order : 2, manner : 2, writes : 1, is_there : 1;
  std::uint8_t is_crowded : 1;        // of a cell's first access: see Cell
  std::uint8_t is_program : 1;        // a plain load or store of the program
  std::uint8_t type : 4, domain : 4;  // of an atomic; 0: of any

  Order how() const { return static_cast<Order>(order); }
  Worker who() const { return {pe, row % kMaxStrands}; }
};
static_assert(sizeof(Access) == 16 && kMaxStrands * kMaxContexts <= 256);

// An access as two words, each of which is read and written at once. `numbers` has the call number
// and the version, so a PE's accesses by one call with one clock have the same.
struct Words {
  std::uint64_t numbers, rest;
};
inline Words words_of(const Access& access) { return std::bit_cast<Words>(access); }
// Bits of the rest.
struct Rest {
  static constexpr std::uint64_t kSite = 0xffff, kStrand = std::uint64_t{1} << 32,
                                 kByte = kStrand << 8, kBytes = 0xff * kByte, kWrites = kByte << 12,
                                 kIsCrowded = kByte << 14;
};

// An access in a cell. Its lock protects it (HeldCells), but for contains().
class Slot {
 public:
  Access load() const { return std::bit_cast<Access>(words()); }
  Words words() const {
    return {numbers_.load(std::memory_order_relaxed), rest_.load(std::memory_order_relaxed)};
  }
  // Numbers are 0 while the rest changes. So a thread that finds the same numbers before and after
  // it reads the rest has read both of one access. A cell stays crowded.
  void store(const Words& words) {
    const std::uint64_t is_crowded = rest_.load(std::memory_order_relaxed) & Rest::kIsCrowded;
    numbers_.store(0, std::memory_order_relaxed);
    rest_.store((words.rest & ~Rest::kIsCrowded) | is_crowded, std::memory_order_release);
    numbers_.store(words.numbers, std::memory_order_release);
  }
  void clear() { store({0, 0}); }
  // Release: a thread that finds this rest also finds the 0 before it.
  void crowd() {
    rest_.store(rest_.load(std::memory_order_relaxed) | Rest::kIsCrowded,
                std::memory_order_release);
  }
  // True if the slot has this load or store, or one that stands for it. Such a one is of the same
  // call and clock and of at least these bytes, and is a store if this one is.
  [[gnu::always_inline]] bool contains(const Words& access) const {
    if (numbers_.load(std::memory_order_acquire) != access.numbers) return false;
    const std::uint64_t rest = rest_.load(std::memory_order_acquire);
    const std::uint64_t may_be_more = Rest::kBytes | Rest::kWrites;
    const std::uint64_t differs = (rest ^ access.rest) & ~(Rest::kSite | Rest::kIsCrowded);
    return numbers_.load(std::memory_order_relaxed) == access.numbers &&
           !(differs & ~(may_be_more & rest));
  }

 private:
  std::atomic<std::uint64_t> numbers_, rest_;
};
static_assert(sizeof(Slot) == sizeof(Access));

// The last accesses to 8 bytes of symmetric memory. If there was once no room for a write, the cell
// is crowded: anybody may have written there.
struct Cell {
  static constexpr std::size_t kBytes = 8, kAccesses = 4;
  Slot slots[kAccesses];
};

// A bit for each byte of a cell, from the first to the one before the last.
inline std::uint8_t bits_of_bytes(std::size_t first, std::size_t last) {
  return static_cast<std::uint8_t>(((1u << last) - 1) & ~((1u << first) - 1));
}

// The cells of a PE, and their locks: neighbours share one. Beside them is the PE's ledger, which
// has most of the PE's own loads and stores.
using CellLock = std::atomic<std::uint8_t>;
struct Shadow {
  static constexpr std::size_t kLocks = 4096, kCellsOfLock = 8;
  std::span<Cell> cells;
  CellLock* locks = nullptr;
  int pe = 0;
  LedgerColumn loads{}, stores{};
  std::uint8_t* unsettled = nullptr;  // of each cell: Unsettled. Written with the cell's lock held

  CellLock& lock_of(std::size_t cell) const { return locks[cell / kCellsOfLock % kLocks]; }
};

// Symmetric memory, from the byte on that is `offset` bytes after the first that the shadow covers.
struct Range {
  std::size_t offset, bytes;
};

// A place in the program from which a routine was called.
struct Site {
  std::uint32_t routine;  // the number of a routine, or of the program's own kind of access
  char place[200];        // "exchange_halos at heat.c:42"
};

// The clocks that a member had when it began a collective.
struct Entry {
  std::uint64_t team;
  std::uint32_t number, version, call_number, strand;
};

// An access by another strand to memory of a PE while that PE's ledger is open. The ledger thread
// compares it with its own accesses when it closes the ledger.
struct Newcomer {
  Range range;
  Access access;
  std::uint32_t phase;  // of the ledger, as the other strand has found it
  std::uint32_t known;  // the number up to which the other knows the PE's own loads and stores
};

// Whether a PE's ledger thread may write now. Never: the program does not report its loads and
// stores. All PEs know this after the barrier in open_checker().
enum class LedgerState : std::uint8_t { never, open, closed };

struct PeBoard {
  static constexpr std::size_t kSites = RecentSites::kSites, kEntries = 64, kNewcomers = 1024,
                               kVersions = 1024;
  pthread_mutex_t mutex;
  std::atomic<LedgerState> ledger;
  std::atomic<std::uint32_t> phase;  // no number in the ledger is greater
  // How many newcomers there were since the ledger thread last looked. Of more than kNewcomers the
  // oldest are lost. Some may be of an earlier phase.
  std::atomic<std::uint32_t> n_newcomers;
  Newcomer newcomers[kNewcomers];
  std::atomic<std::uint32_t> call_number;
  std::atomic<std::uint32_t> n_told;
  CellLock locks[Shadow::kLocks];
  std::uint32_t n_rows;                  // no access and no published clock has a row beyond
  std::uint32_t versions[kMaxStrands];   // the newest of each
  std::uint32_t first_calls[kVersions];  // of strand 0: the first call with that clock
  std::uint32_t n_entries;
  Entry entries[kEntries];
  Site sites[kSites];
};

// For programs that wait by loads of their own: the last writes by a strand of at most this many
// bytes, which the PE with the memory may have seen. The last one by a put with signal is kept
// apart, since it says more than a later write.
struct Told {
  static constexpr std::size_t kBytes = 8;
  Access write, signaled;
};

struct Head {
  static constexpr std::size_t kPairs = 4096;
  pthread_mutex_t mutex;
  std::uint32_t n_races, n_found;   // of different call sites, and all; in PE 0's alone
  std::atomic<bool> has_unseen;     // a PE writes in ways that the checker does not see
  std::atomic<bool> orders_unseen;  // a PE orders accesses in such ways
  std::uint64_t pairs[kPairs];      // of call sites that have been reported; in PE 0's alone
};

class Board {
 public:
  // Collective. "" or why not.
  std::string open(const TraceJob& job);
  void close();

  // Whether the PE's part is in this memory; only then of() and all below may be called.
  bool has(int pe) const { return place_of_[static_cast<std::size_t>(pe)] >= 0; }
  Head& head() const { return *at<Head>(0); }
  PeBoard& of(int pe) const { return *at<PeBoard>(begin_of(pe)); }
  // How many strands of a PE, and contexts of a strand, are told apart.
  unsigned strands() const { return n_strands_; }
  unsigned contexts() const { return n_contexts_; }
  unsigned rows() const { return n_strands_ * n_contexts_; }
  std::size_t place_of(const Worker& worker) const {
    return worker.strand * n_pes_ + static_cast<std::size_t>(worker.pe);
  }
  // For how many versions of the strand's clock there is memory. Clocks are longer with more
  // strands, so the strands of a PE share a fixed number of versions. Strand 0 makes most calls in
  // most programs and has half of them.
  std::size_t versions(unsigned strand) const;
  // The clock of this version: kOrders numbers for each PE, for each row.
  std::span<std::uint32_t> clock(const Worker& of, std::uint32_t version) const;
  // The last write by which each strand of each PE has told this one.
  std::span<Told> told(int pe) const;
  Shadow shadow(int pe) const;

 private:
  template <typename T>
  T* at(std::size_t offset) const {
    return reinterpret_cast<T*>(base_ + offset);
  }
  std::size_t begin_of(int pe) const;
  int count_places(const TraceJob& job);
  void make_mutexes() const;

  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0, before_told_ = 0, before_shadow_ = 0, before_ledger_ = 0,
              bytes_of_pe_ = 0, cells_ = 0, n_pes_ = 0;
  unsigned n_strands_ = 1, n_contexts_ = 1;
  std::vector<int> place_of_;  // of each PE among those that share the memory; -1: not one of them
};

// True while this thread holds a lock of the board. A signal handler that interrupts it then must
// not enter the checker.
inline constinit thread_local bool is_in_board = false;

// Holds the mutex of a part. If a PE has died with the mutex, this takes it: the job ends anyway.
class Held {
 public:
  explicit Held(pthread_mutex_t& mutex);
  ~Held();
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

// Holds the lock of some cells. If a PE has died with the lock, this takes it after a few seconds.
class HeldCells {
 public:
  explicit HeldCells(CellLock& lock) : lock_(lock) {
    is_in_board = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (!try_take()) wait();
  }
  ~HeldCells() {
    lock_.store(0, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    is_in_board = false;
  }
  HeldCells(const HeldCells&) = delete;
  HeldCells& operator=(const HeldCells&) = delete;

 private:
  bool try_take() { return lock_.exchange(1, std::memory_order_acquire) == 0; }
  [[gnu::noinline]] void wait() {
    using std::chrono::steady_clock;
    const auto end = steady_clock::now() + std::chrono::seconds(4);
    while (!try_take() && steady_clock::now() < end) sched_yield();
  }

  CellLock& lock_;
};

}  // namespace meshmem::races

#endif  // MESHMEM_TOOLS_RACES_BOARD_HPP_
