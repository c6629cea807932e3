// SPDX-License-Identifier: Apache-2.0
//
// The ledger: where a PE notes its loads and stores of its own symmetric memory for the race
// checker. Each note has the number of its phase, a time in which the PE's clock stays the same.
// Invariant: one thread, the ledger thread, writes without a lock. Threads of all PEs of the node
// read. Included by the hooks of programs (src/tools/accesses/) and by src/tools/races/ alone.
// Programs contain the code that writes, so kLayout grows with each change here.
#ifndef MESHMEM_BASE_HOOKS_LEDGER_HPP_
#define MESHMEM_BASE_HOOKS_LEDGER_HPP_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace meshmem {

// Numbers of places of the program that have loaded or stored. They are read without a lock. A word
// has the address of the place (48 bits), whether it stores (1 bit), and its number (15 bits).
struct RecentSites {
  static constexpr std::uint64_t kSites = 32768;
  std::array<std::atomic<std::uint64_t>, 4096> words{};

  std::atomic<std::uint64_t>& word_of(std::uint64_t caller_and_kind) {
    return words[caller_and_kind % words.size()];
  }
  // The number of the place; 0: it is not in the table.
  [[gnu::always_inline]] std::uint16_t find(const void* caller, bool stores) const {
    const std::uint64_t wanted = reinterpret_cast<std::uintptr_t>(caller) << 1 | stores;
    const std::uint64_t word = words[wanted % words.size()].load(std::memory_order_acquire);
    return word / kSites == wanted ? static_cast<std::uint16_t>(word % kSites) : 0;
  }
};

// The blocks of addresses that were looked up last and lie wholly in one mapping of symmetric
// memory, or wholly outside of all. A word has the block's address. In the bits below it has the
// place of the mapping, or kNowhere: the block is not symmetric. A word of 0 has no block.
struct RecentBlocks {
  static constexpr std::uintptr_t kBlock = 4096, kNowhere = 1, kUnit = 65536;
  std::array<std::atomic<std::uint64_t>, 4096> words{};
  // A range of memory that is not symmetric, around the last address that was looked up there.
  // Upper half: its begin; lower half: its length, both in units of kUnit bytes.
  std::atomic<std::uint64_t> gap{0};

  // The place of the block of this address, if that was looked up last; else 0.
  [[gnu::always_inline]] std::uint64_t place_of(std::uintptr_t at) const {
    const std::uint64_t word = words[at / kBlock % words.size()].load(std::memory_order_relaxed);
    return word / kBlock == at / kBlock ? word % kBlock : 0;
  }
  [[gnu::always_inline]] bool has_nowhere(std::uintptr_t at) const {
    const std::uint64_t word = gap.load(std::memory_order_relaxed);
    return at / kUnit - (word >> 32) < (word & UINT32_MAX) || place_of(at) == kNowhere;
  }
};

// The newest load, or the newest store, of each 4 bytes: the number of its phase (0: none) and its
// place in the program. An access of 8 bytes is two entries, which are written at once.
struct LedgerColumn {
  static constexpr std::size_t kBytes = 4;
  std::uint32_t* numbers = nullptr;
  std::uint16_t* sites = nullptr;

  std::uint32_t number(std::size_t i) const {
    return __atomic_load_n(&numbers[i], __ATOMIC_ACQUIRE);
  }
  std::uint16_t site(std::size_t i) const { return __atomic_load_n(&sites[i], __ATOMIC_RELAXED); }
};

// Bits for a cell (8 bytes) with accesses that the PE may not know to be done.
enum Unsettled : std::uint8_t {
  kStoresMustLook = 1,  // there is such an access, so a store may race with it
  kLoadsMustLook = 2    // one of them writes, so a load may race with it
};

// A range of the PE's symmetric memory, and the ledger's entries for it.
struct LedgerArea {
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::size_t> bytes{0};
  LedgerColumn loads, stores;
  std::uint8_t* unsettled = nullptr;

  [[gnu::always_inline]] std::size_t offset_of(std::uintptr_t at) const {
    return at - begin.load(std::memory_order_relaxed);
  }
  [[gnu::always_inline]] bool has(std::size_t offset) const {
    return offset < bytes.load(std::memory_order_relaxed);
  }
};

struct Ledger {
  static constexpr std::uint32_t kLayout = 1;
  static constexpr std::uint64_t kClosed = UINT64_MAX;
  // A phase's number twice in one word, as two entries that are written at once have it.
  static constexpr std::uint64_t numbers_of(std::uint32_t phase) {
    return std::uint64_t{phase} << 32 | phase;
  }

  std::uint32_t layout = kLayout;
  std::atomic<std::uint64_t> numbers{kClosed};  // numbers_of() this phase
  std::array<LedgerArea, 2> areas{};            // the heap, and static data
  RecentSites sites{};
  RecentBlocks blocks{};
  // Accesses between these have to be reported to the checker, also if the memory is not symmetric.
  std::atomic<std::uintptr_t> begin_watched{0}, end_watched{UINTPTR_MAX};

  // True if this load or store need not be reported to the checker: it is in the ledger now, or it
  // is of memory that only the program uses. Called by the ledger thread.
  template <std::size_t kBytes, bool kStores>
  [[gnu::always_inline]] bool passes(std::uintptr_t at, const void* caller) {
    if constexpr (kBytes == 4 || kBytes == 8) {
      if (const std::size_t offset = areas[0].offset_of(at); areas[0].has(offset))
        return passes_in<kBytes, kStores>(areas[0], offset, caller);
      if (const std::size_t offset = areas[1].offset_of(at); areas[1].has(offset))
        return passes_in<kBytes, kStores>(areas[1], offset, caller);
    }
    return blocks.has_nowhere(at) && !(at < end_watched.load(std::memory_order_relaxed) &&
                                       begin_watched.load(std::memory_order_relaxed) < at + kBytes);
  }

  // Notes a load or store of 4 or 8 bytes, aligned to its size, from entry i on. False: the caller
  // has to report it to the checker.
  template <std::size_t kBytes, bool kStores>
  [[gnu::always_inline]] bool add(const LedgerColumn& column, std::size_t i, const void* caller) {
    using Word = Of<kBytes>;
    const std::uint64_t now = numbers.load(std::memory_order_relaxed);
    const std::uint64_t site = sites.find(caller, kStores);
    if (now == kClosed || site == 0) return false;
    __atomic_store_n(reinterpret_cast<typename Word::Sites*>(&column.sites[i]),
                     static_cast<typename Word::Sites>(site << 16 | site), __ATOMIC_RELAXED);
    __atomic_store_n(reinterpret_cast<typename Word::Numbers*>(&column.numbers[i]),
                     static_cast<typename Word::Numbers>(now), __ATOMIC_RELEASE);
    // Puts the note before the program's next stores: a PE that sees one of these finds the note.
    std::atomic_thread_fence(std::memory_order_release);
    // False if a signal handler has ended the phase, and the next phase has another number. Then
    // the note may have come after the phase's end.
    return numbers.load(std::memory_order_relaxed) == now;
  }

 private:
  template <std::size_t kBytes>
  struct Of {
    template <typename T>
    using May [[gnu::may_alias]] = T;
    using Numbers = May<std::conditional_t<kBytes == 8, std::uint64_t, std::uint32_t>>;
    using Sites = May<std::conditional_t<kBytes == 8, std::uint32_t, std::uint16_t>>;
  };

  template <std::size_t kBytes, bool kStores>
  [[gnu::always_inline]] bool passes_in(const LedgerArea& area, std::size_t offset,
                                        const void* caller) {
    using Numbers = typename Of<kBytes>::Numbers;
    if (offset % kBytes != 0) return false;
    const LedgerColumn& column = kStores ? area.stores : area.loads;
    static_assert(sizeof *column.numbers == LedgerColumn::kBytes);  // so offsets are the same
    const auto* noted = reinterpret_cast<const Numbers*>(
        reinterpret_cast<const std::byte*>(column.numbers) + offset);
    if (__atomic_load_n(noted, __ATOMIC_RELAXED) ==
        static_cast<Numbers>(numbers.load(std::memory_order_relaxed)))
      return true;
    constexpr std::uint8_t kMustLook = kStores ? kStoresMustLook | kLoadsMustLook : kLoadsMustLook;
    const auto must_look = [&] {
      return __atomic_load_n(&area.unsettled[offset / 8], __ATOMIC_RELAXED) & kMustLook;
    };
    // Looks again after the note. Between the first look and the note a signal handler may have
    // gone through a whole phase with the same number, in which there was a newcomer.
    return !must_look() && add<kBytes, kStores>(column, offset / LedgerColumn::kBytes, caller) &&
           !must_look();
  }
};

}  // namespace meshmem

#endif  // MESHMEM_BASE_HOOKS_LEDGER_HPP_
