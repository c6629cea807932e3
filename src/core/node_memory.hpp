// SPDX-License-Identifier: Apache-2.0
//
// The arena as the PEs that share it use it: who they are, and where each one's memory is in it.
// Invariant: an index is a number among the PEs of this arena, a PE a number in the job. The
// arena's PEs are those of a node. Part of a JobConnection, made once a process.
#ifndef MESHMEM_CORE_NODE_MEMORY_HPP_
#define MESHMEM_CORE_NODE_MEMORY_HPP_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/job.hpp"
#include "core/active_sets.hpp"
#include "core/team_area.hpp"
#include "memory/arena.hpp"
#include "transport/transport.hpp"

namespace meshmem {

class NodeMemory {
 public:
  struct Plan {
    std::vector<int> pes;  // that share the arena, ascending, this one among them
    int me;
    Among exchange;  // whether pes are those of a node or of the job
    bool has_wire_addresses;
    std::size_t static_bytes;
    std::size_t heap_bytes;
    double start_timeout;
  };
  // Collective. The first PE's plan counts.
  void open(Plan plan);
  bool is_open() const { return arena_.has_value(); }

  int n() const { return static_cast<int>(pes_.size()); }
  int index() const { return index_; }
  bool is_first() const { return index_ == 0; }
  const std::vector<int>& pes() const { return pes_; }
  int index_of(int pe) const;  // of one that shares the arena

  Arena& arena() { return *arena_; }
  const Arena& arena() const { return *arena_; }
  const ArenaLayout& layout() const { return layout_; }
  DirectoryEntry* directory() const { return arena_->directory(); }
  DirectoryEntry& mine() const { return directory()[index_]; }

  // The highest sequence number that a team of this or another node had reached when the library
  // was last finalized.
  std::uint64_t highest_sequence() const;
  // Stores this PE's wire address in the arena. The node's first PE publishes it.
  void tell_wire_address(const std::string& address);

  // Once this PE's static data is shared, its base is the program's address. Each place has one
  // address, so ThreadSanitizer sees which stores of the progress thread a wait has seen.
  std::byte* base_of(int index, RemoteSegment segment) const;
  void share_own_statics(std::byte* begin) { own_statics_ = begin; }
  TeamArea* team_area(int pe, int slot) const;
  ActiveSetList* active_sets() const;                         // of the first PE
  static std::size_t place_of_active_set(std::size_t place);  // in the control segment
  // The word that says which team a PE joins by an id (library/splits.hpp).
  std::atomic<std::uint64_t>& joining(int pe) const;
  static std::size_t place_of_joining();  // in the control segment

  // Returns when all PEs of the arena have called it. It needs no team, so start-up and
  // shmem_finalize use it.
  void meet(const char* where);

 private:
  void require_build(const std::string& told_by_first) const;

  std::optional<Arena> arena_;
  ArenaLayout layout_;
  std::vector<int> pes_;
  int index_ = 0;
  std::byte* own_statics_ = nullptr;
  std::uint64_t meetings_ = 0;
};

}  // namespace meshmem

#endif  // MESHMEM_CORE_NODE_MEMORY_HPP_
