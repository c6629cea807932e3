// SPDX-License-Identifier: Apache-2.0
//
// This PE's connection to the others of its job: the launcher, the arena of the node, the other
// nodes, the transport. It knows where the memory of each PE is mapped here.
// Invariant: made once a process, and kept until it ends. A failure of one PE ends the job; no PE
// waits for one that has gone. Part of the Runtime.
#ifndef MESHMEM_CORE_JOB_CONNECTION_HPP_
#define MESHMEM_CORE_JOB_CONNECTION_HPP_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/settings/environment.hpp"
#include "core/network.hpp"
#include "core/node_card.hpp"
#include "core/node_memory.hpp"
#include "core/nodes.hpp"
#include "core/spread.hpp"
#include "memory/address_map.hpp"
#include "memory/static_data.hpp"

namespace meshmem {

class JobConnection {
 public:
  // Finds out who this PE is and who the others are. From here on an error ends the job, not only
  // this PE.
  void join(const Environment& environment);
  // Called after join(). From here on PEs reach each other. `tuning`: the text of the file that
  // MESHMEM_TUNING names.
  void connect(const Environment& environment, const std::string& tuning);
  bool is_open() const { return memory_.is_open(); }

  int n_pes() const { return n_pes_; }
  int me() const { return me_; }
  NodeMemory& memory() { return memory_; }
  const NodeMemory& memory() const { return memory_; }
  Network& network() { return network_; }
  const Network& network() const { return network_; }
  const Nodes& nodes() const { return nodes_; }
  const NodeFacts& facts() const { return facts_; }  // of all PEs
  // Where the symmetric heap and the static data of each PE are mapped here; kFar for a far PE.
  const Segment& heap() const { return heap_; }
  const Segment& statics() const { return statics_; }
  const std::vector<std::byte*>& heap_of_pe() const { return heap_of_pe_; }
  const CoreShare& core_share() const { return core_share_; }
  bool has_more_pes_than_cores() const { return more_pes_than_cores_; }
  // How many bytes are left free behind each block of the symmetric heaps.
  std::size_t gap() const;

  // Returns when all PEs of the job have called it. It needs no team, so start-up and
  // shmem_finalize use it.
  void meet(const char* where);
  // Collective: returns the greatest number that any PE passes. The PEs of a node all pass the same
  // number.
  std::uint64_t greatest_of_nodes(std::uint64_t number, const char* where);
  // Collective: returns whether the init that opens the library has failed on a PE, and whether it
  // has succeeded on a PE.
  struct StartOutcome {
    bool has_failures = false, has_successes = false;
  };
  StartOutcome compare_starts(bool has_failed, const char* where);
  // Collective: the last step of start-up. `is_wanted`: by this PE.
  void spread_over_cores(bool is_wanted);

 private:
  void choose_network(NetworkKind wanted);
  int pes_of_machine() const;
  void open_memory(const Environment& environment, std::size_t static_bytes);
  void fill_directory_entry(const Environment& environment, const std::string& tuning,
                            std::uint64_t program);
  void find_nodes(double start_timeout);
  void find_segments();
  void share_statics(const StaticData& statics);

  int n_pes_ = 0;
  int me_ = 0;
  bool uses_network_ = false;
  NodeMemory memory_;
  Network network_;
  Nodes nodes_;
  NodeFacts facts_;
  std::vector<std::byte*> heap_of_pe_;  // kFar for those on other nodes
  std::vector<std::byte*> statics_of_pe_;
  Segment heap_, statics_;  // point to the two vectors
  CoreShare core_share_;
  bool more_pes_than_cores_ = false;
  std::uint64_t starts_ = 0;  // calls of compare_starts() so far
};

}  // namespace meshmem

#endif  // MESHMEM_CORE_JOB_CONNECTION_HPP_
