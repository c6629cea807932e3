// SPDX-License-Identifier: Apache-2.0
//
// The node arena: one anonymous shared-memory object that every PE of the node maps once.
//
//   [ header | directory: an entry for each PE | board: what each PE waits for | wire addresses ]
//   [ region of PE 0: control | statics | heap ] [ region of PE 1 ] ...
//
// Invariant: it has no name, so nothing of it remains when the last process that maps it has ended,
// however that ends. A page takes memory only once it is touched. Made and mapped by start-up.
#ifndef MESHMEM_MEMORY_ARENA_HPP_
#define MESHMEM_MEMORY_ARENA_HPP_

#include <sched.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/machine/shared_file.hpp"
#include "base/status/status_board.hpp"
#include "gpu/device_memory.hpp"

namespace meshmem {

// Bytes before each heap that belong to no block, so that an access below the first block hits
// them.
inline constexpr std::size_t kBelowHeap = 64;

inline constexpr std::size_t kMostWireAddressBytes = 510;

// A PE's Wire::address(). It is in the arena until start-up has sent it to the other nodes.
struct WireAddress {
  std::uint16_t size = 0;
  char bytes[kMostWireAddressBytes] = {};
};

// All offsets in the arena follow from these numbers, which are the same in all PEs of the node.
struct ArenaLayout {
  std::size_t n_pes = 0;
  std::size_t control_bytes = 0;
  std::size_t static_bytes = 0;
  std::size_t heap_bytes = 0;
  bool has_wire_addresses = false;

  std::size_t region(int index) const;   // offset of a PE's region; index counts the node's PEs
  std::size_t statics(int index) const;  // ... of its static data
  std::size_t heap(int index) const;     // ... of its heap
  std::size_t total() const;
  bool operator==(const ArenaLayout&) const = default;
};

// The settings that start-up compares between PEs.
struct Settings {
  std::uint64_t heap_bytes = 0;
  std::uint64_t heap_size_is_set = 0;     // SHMEM_SYMMETRIC_SIZE sets heap_bytes
  std::uint64_t tuning = 0;               // a hash of the table that MESHMEM_TUNING names
  std::array<std::uint64_t, 8> shared{};  // values of other variables that must be the same
  std::uint64_t wire = 0;                 // a WireKind
};

// A PE's entry, which it fills in for the other PEs of its node.
struct alignas(64) DirectoryEntry {
  int pe = 0;
  Settings settings;
  std::uint64_t program = 0;           // StaticData::fingerprint
  bool is_checked = false;             // it runs under a memory checker
  std::size_t heap_alignment = 0;      // of its own heap, as it has mapped it
  std::uint64_t highest_sequence = 0;  // of this PE's teams, when it last finalized
  cpu_set_t cpus{};
  int core = -1;  // where this PE ran at the end of start-up; -1: not determined
  DeviceOffer device;
};

// All zero in a fresh arena. `arrivals` counts the calls of NodeMemory::meet() by all PEs.
struct alignas(64) ArenaHeader {
  alignas(64) std::atomic<std::uint64_t> arrivals{0};
  // The highest sequence number of all nodes' teams when the nodes last met. The node's first PE
  // sets it.
  std::atomic<std::uint64_t> highest_sequence{0};
  std::atomic<std::uint64_t> agreed{0};  // the result of greatest_of_nodes()
  // The number of the last start in which a PE has failed, and of the last start in which a PE has
  // not failed. They count from 1.
  std::atomic<std::uint64_t> failed_start{0}, good_start{0};
  std::atomic<bool> reports_unfinished_exit{
      false};        // a PE here has ended without shmem_finalize and prints that
  OneReport loss{};  // that a PE of this node has lost a PE of another
};

class Arena {
 public:
  // The node's first PE makes the arena. It sends its ticket to the others ...
  static Arena create(const ArenaLayout& layout);
  // ... in the start-up exchange. The maker must live until all have attached.
  std::string ticket() const;
  static ArenaLayout layout_of(const std::string& ticket);
  // `index`: the caller's, among the node's PEs. The mapping gives its own heap the best alignment.
  static Arena attach(const std::string& ticket, int index);

  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&&) = delete;
  ~Arena();  // closes the file if it is still open; the mapping stays for the life of the process

  std::byte* base() const { return base_; }
  int file() const { return file_; }
  void close_file();  // once no PE will attach or map any more

  ArenaHeader& header() const { return *reinterpret_cast<ArenaHeader*>(base_); }
  StatusBoard status_board() const;  // for jobs whose launcher has made none
  DirectoryEntry* directory() const {
    return reinterpret_cast<DirectoryEntry*>(base_ + sizeof(ArenaHeader));
  }
  WireAddress& wire_address(int index) const;  // if the layout has them

 private:
  Arena(int file, const ArenaLayout& layout, int index);
  int file_;
  ArenaLayout layout_;
  std::byte* base_;
};

}  // namespace meshmem

#endif  // MESHMEM_MEMORY_ARENA_HPP_
