// SPDX-License-Identifier: Apache-2.0
//
// Counts the cores of a machine's PEs, and spreads the PEs evenly over them at the end of start-up.
// Invariant: no PE stays bound to a core; the scheduler may move it. A PE calls
// pes_outnumber_cores() when it connects to its job, and spread_over_cores() at the end of each
// start.
#ifndef MESHMEM_CORE_SPREAD_HPP_
#define MESHMEM_CORE_SPREAD_HPP_

#include <sched.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <map>

#include "memory/arena.hpp"

namespace meshmem {

// The nodes that share the cores of this PE's node: containers, or fake nodes. Most often there is
// no other node.
struct CoreShare {
  int nodes = 1;
  int index = 0;                                       // of this node among them
  int pes = 0;                                         // of all these nodes
  int pes_before = 0;                                  // of the nodes before this one
  int fewest_cores = std::numeric_limits<int>::max();  // see FewestCores; the same on all PEs
};

// Finds the fewest cores that any node has as its share. Only machines whose PEs outnumber the
// cores count. Nodes of the same name share one machine's cores; a node with name 0 shares its
// cores with no other node.
class FewestCores {
 public:
  void add(std::uint64_t name, int cores, int pes);  // one more node
  int count() const;  // the greatest int if PEs outnumber cores nowhere

 private:
  struct Machine {
    int cores = 0, nodes = 0, pes = 0;
    int of_node() const;  // a node's share; the greatest int if there are enough cores
  };
  std::map<std::uint64_t, Machine> machines_;
  int fewest_unnamed_ = std::numeric_limits<int>::max();
};

// Returns the same number for all nodes whose PEs may use the same cores of one machine; 0:
// unknown.
std::uint64_t name_of_cores(const DirectoryEntry* directory, int n_pes);

// Returns how many cores the PEs may use at a time, within what a container grants; 0: unknown.
int count_cores(const DirectoryEntry* directory, int n_pes);

// True if the PEs that use these cores outnumber them, or outnumber what a container grants.
bool pes_outnumber_cores(const DirectoryEntry* directory, int n_pes, const CoreShare& share);

// Returns the core that PE `me` gets if PEs outnumber the cores. PEs that may use the same cores
// get them in turn, and each of the nodes that share a machine gets a part of its cores. -1: it may
// use none.
int core_dealt_to(const DirectoryEntry* directory, int me, const CoreShare& share);

// Returns the cores to which PE `me` may move if a PE before it runs on the same core; else none.
// No PE is on them, and no core is given to two PEs that may use the same cores.
cpu_set_t cores_to_leave_for(const DirectoryEntry* directory, int n_pes, int me);

// Collective, and the last step of start-up, since a PE that naps later may wake up on another
// core. If PEs outnumber the cores, moves this PE to core_dealt_to(). If each has a core, moves it
// to cores_to_leave_for(), if there are any. `is_wanted`: whether this PE wants to move; others may
// differ.
void spread_over_cores(DirectoryEntry* directory, int n_pes, int me, const CoreShare& share,
                       bool is_wanted, const std::function<void()>& meet);

}  // namespace meshmem

#endif  // MESHMEM_CORE_SPREAD_HPP_
