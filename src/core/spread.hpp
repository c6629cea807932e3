// SPDX-License-Identifier: Apache-2.0
//
// How many cores the PEs of a machine have, and their even spread over them at the end of start-up.
// Invariant: no PE is bound; the scheduler may move each on. A PE calls pes_outnumber_cores() when
// it connects to its job, and spread_over_cores() at the end of each start.
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
  int pes = 0;                                         // of all these nodes
  int pes_before = 0;                                  // of the nodes before this one
  int fewest_cores = std::numeric_limits<int>::max();  // see FewestCores; the same on all PEs
};

// A node's share of its machine's cores, for the node that has the fewest of those whose PEs
// outnumber cores. Nodes of the same name share one machine's cores; a node with name 0 shares
// none.
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

// How many cores they may use at a time, within what a container grants; 0: not known.
int count_cores(const DirectoryEntry* directory, int n_pes);

// Whether the PEs that use these cores outnumber them, or what a container grants of them.
bool pes_outnumber_cores(const DirectoryEntry* directory, int n_pes, const CoreShare& share);

// The core that PE `me` gets where PEs outnumber the cores. PEs that may use the same cores take
// turns, and nodes that share a machine have a part of its cores each. -1: it may use none.
int core_dealt_to(const DirectoryEntry* directory, int me, const CoreShare& share);

// The cores to which PE `me` may move if a PE before it runs on the same core; else none. No PE is
// on them, and no core is given to two PEs that may use the same cores.
cpu_set_t cores_to_leave_for(const DirectoryEntry* directory, int n_pes, int me);

// Collective, and the last step of start-up, since a PE that naps later may wake up on another
// core. If PEs outnumber the cores, moves this PE to core_dealt_to(). If each has a core, moves it
// to cores_to_leave_for(), if there are any. `is_wanted`: whether this PE wants to move; others may
// differ.
void spread_over_cores(DirectoryEntry* directory, int n_pes, int me, const CoreShare& share,
                       bool is_wanted, const std::function<void()>& meet);

}  // namespace meshmem

#endif  // MESHMEM_CORE_SPREAD_HPP_
