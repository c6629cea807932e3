// SPDX-License-Identifier: Apache-2.0
//
// Where the symmetric heap and the static data of every PE of the job are mapped here.
// Invariant: the segments point into this object, which lives for ever. Found once a process, when
// the nodes are known. Part of a JobConnection.
#ifndef MESHMEM_CORE_SHARED_SEGMENTS_HPP_
#define MESHMEM_CORE_SHARED_SEGMENTS_HPP_

#include <cstddef>
#include <vector>

#include "core/node_memory.hpp"
#include "core/nodes.hpp"
#include "memory/address_map.hpp"
#include "memory/static_data.hpp"

namespace meshmem {

class SharedSegments {
 public:
  void find_copies(const NodeMemory& memory, const Nodes& nodes, int n_pes, std::size_t heap_bytes);
  // Moves this PE's static data to the arena. From then on it is symmetric.
  void share_statics(const StaticData& statics, const NodeMemory& memory);

  const Segment& heap() const { return heap_; }
  const Segment& statics() const { return statics_; }
  const std::vector<std::byte*>& heap_of_pe() const { return heap_of_pe_; }
  std::byte* my_heap() const { return reinterpret_cast<std::byte*>(heap_.base); }

 private:
  int me_ = 0;
  std::vector<std::byte*> heap_of_pe_;  // kFar for those on other nodes
  std::vector<std::byte*> statics_of_pe_;
  Segment heap_;
  Segment statics_;
};

}  // namespace meshmem

#endif  // MESHMEM_CORE_SHARED_SEGMENTS_HPP_
