// SPDX-License-Identifier: Apache-2.0
//
// The teams of this PE and the slots of team areas that they use.
// Invariant: all members of a team use the same slot; a slot's sequence numbers go on where the
// last team that used it stopped. Used by Runtime for the predefined teams and those of active
// sets, and by the splits, which agree with the other PEs on a slot first.
#ifndef MESHMEM_CORE_TEAM_TABLE_HPP_
#define MESHMEM_CORE_TEAM_TABLE_HPP_

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "base/settings/foreign_variables.hpp"
#include "core/nodes.hpp"
#include "core/team.hpp"

namespace meshmem {

// A team that every program has from shmem_init on. The public headers name its slot.
struct PredefinedTeam {
  int slot;
  std::vector<int> pes;  // world PEs; this PE is one of them
};
// WORLD and SHARED; for programs of NVSHMEM also the PEs that have this PE's number on their node.
// All PEs get the same teams in the same order, WORLD first.
std::vector<PredefinedTeam> predefined_teams(const Nodes& nodes, int n_pes, int me, NamesOf names);

class TeamTable {
 public:
  // area_of(world PE, slot): where a near PE's team area is mapped here.
  using AreaOf = std::function<TeamArea*(int world_pe, int slot)>;
  // Sequence numbers begin at first_sequence or above: before an earlier finalize, teams have left
  // numbers up to it in the areas.
  TeamTable(const AddressMap& map, AreaOf area_of, NodeOf node_of, bool more_pes_than_cores,
            int fewest_cores, std::uint64_t first_sequence);

  // This PE's part in the agreement on a new team: its free slots, a bit each, and the highest
  // sequence number that any past team has reached. It also says whether something is wrong or in
  // the way. combine_offers() ANDs the members' bits, and takes the highest of each other word.
  static constexpr std::size_t kWords = kMaxTeams / 64;
  struct Offer {
    std::array<std::uint64_t, kWords> free_slots{};
    std::uint64_t highest_sequence = 0;
    std::uint64_t invalid = 0;  // a PE has given invalid arguments
    std::uint64_t busy = 0;     // another thread of a PE is making a team: try again
  };
  static int first_free(const Offer& agreed);  // -1: no slot is free on all PEs
  static void combine_offers(void* dest, const void* a, const void* b,
                             std::size_t count);  // a Combine of reduction.hpp

  // This PE's offer to a split. Only one split at a time has the right to offer slots: otherwise
  // two threads could agree on one slot with different PEs. offer() takes this right. It says
  // `busy` if another split has the right, or if a split of a parent in a lower slot is under way.
  // On every PE the lowest goes first, so splits cannot wait for each other for ever.
  Offer offer(int parent_slot);
  // Gives the right back. done: the split is over; otherwise it will offer again.
  void end_offer(int parent_slot, bool done);

  // Makes the team of `pes` with this PE in it. find() returns it once it is published.
  Team& add(std::vector<int> pes, int slot, std::uint64_t start_sequence,
            const shmem_team_config_t& config);
  void publish(Team& team);
  void remove(Team& team);

  // The living team of a handle, nullptr if there is none. Takes no lock: most calls with a team or
  // a context begin with it.
  Team* find(shmem_team_t handle) const {
    const std::uintptr_t slot = number_of(handle) - 1;
    return slot < by_slot_.size() ? by_slot_[slot].load(std::memory_order_acquire) : nullptr;
  }
  std::uint64_t highest_sequence();  // that any team of this PE has reached, past ones included

 private:
  // `slot`: that of the areas; for a twin for kernels, the team's slot plus kMaxTeams.
  std::unique_ptr<Team> make(std::vector<int> pes, int slot, std::uint64_t start_sequence) const;

  const AddressMap& map_;
  AreaOf area_of_;
  NodeOf node_of_;
  bool more_pes_than_cores_;
  int fewest_cores_;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<Team>> teams_;  // by slot
  std::array<std::atomic<Team*>, kMaxTeams> by_slot_{};
  std::set<int> splitting_;  // slots of the parents whose splits are under way
  int offering_ = -1;        // the one of them that has the right to offer, or -1
  std::uint64_t highest_retired_;
};

}  // namespace meshmem

#endif  // MESHMEM_CORE_TEAM_TABLE_HPP_
