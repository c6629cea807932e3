// SPDX-License-Identifier: Apache-2.0
//
// Where the PEs of a machine run: how many cores they have, and their even spread at the end of
// start-up. Invariant: no PE is bound; the scheduler may move each on. share_cores() is called when
// a PE connects to its job, spread_over_cores() at the end of each start.
#ifndef MESHMEM_CORE_SPREAD_HPP_
#define MESHMEM_CORE_SPREAD_HPP_

#include <sched.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <map>

#include "memory/arena.hpp"

namespace meshmem {

// The nodes that share the cores of this PE's node: containers, or simulated machines. Most often
// there is no other.
struct CoreShare {
  int nodes = 1;
  int index = 0;                                       // of this node among them
  int pes = 0;                                         // of all of them
  int pes_before = 0;                                  // of those before this one
  int fewest_cores = std::numeric_limits<int>::max();  // see FewestCores; the same on all PEs
};

// A node's share of the machine's cores where PEs outnumber them, for the node of the job that has
// the fewest. Nodes of the same name share theirs; 0 is nobody's name.
class FewestCores {
 public:
  void add(std::uint64_t name, int cores, int pes);  // one more node
  int count() const;  // the greatest int there is: PEs outnumber cores nowhere

 private:
  struct Machine {
    int cores = 0, nodes = 0, pes = 0;
    int of_node() const;
  };
  std::map<std::uint64_t, Machine> machines_;
  int fewest_unnamed_ = std::numeric_limits<int>::max();
};

// The same number for nodes whose PEs may use the same cores of one machine; 0: not known.
std::uint64_t name_of_cores(const DirectoryEntry* directory, int n_pes);

// How many they may use at a time, of what a container grants too; 0: not known.
int count_cores(const DirectoryEntry* directory, int n_pes);

// The PEs that use these cores outnumber them, or what a container grants of them.
bool share_cores(const DirectoryEntry* directory, int n_pes, const CoreShare& share);

// The core that PE `me` gets where PEs outnumber the cores. PEs that may use the same cores take
// turns, and nodes that share a machine have a part of its cores each. -1: it may use none.
int core_dealt_to(const DirectoryEntry* directory, int me, const CoreShare& share);

// The cores that PE `me` gets where a PE before it runs on the same core as it does: of those where
// no PE is, no core is given to two PEs that may use the same ones. Else none.
cpu_set_t cores_to_leave_for(const DirectoryEntry* directory, int n_pes, int me);

// Collective, and the last thing that start-up does: who naps later may wake up elsewhere. Where
// PEs outnumber the cores, to the core that is dealt to this PE, of this node's part of the cores;
// with a core for each, away from one where another PE is, unless this PE may stay. `is_wanted`: by
// this PE; the others may differ.
void spread_over_cores(DirectoryEntry* directory, int n_pes, int me, const CoreShare& share,
                       bool is_wanted, const std::function<void()>& meet);

}  // namespace meshmem

#endif  // MESHMEM_CORE_SPREAD_HPP_
