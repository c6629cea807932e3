// SPDX-License-Identifier: Apache-2.0
//
// Looks up the memory of the near PEs in the arena.
// Invariant: the copies of far PEs stay kFar.
#include "core/shared_segments.hpp"

#include <cstdint>

namespace meshmem {

void SharedSegments::find_copies(const NodeMemory& memory, const Nodes& nodes, int n_pes,
                                 std::size_t heap_bytes) {
  me_ = memory.pes()[static_cast<std::size_t>(memory.index())];
  heap_of_pe_.assign(static_cast<std::size_t>(n_pes), kFar);
  statics_of_pe_.assign(static_cast<std::size_t>(n_pes), kFar);
  for (const int pe : memory.pes()) {
    if (!nodes.is_near(pe)) continue;
    const int index = memory.index_of(pe);
    const auto place = static_cast<std::size_t>(pe);
    heap_of_pe_[place] = memory.base_of(index, RemoteSegment::heap);
    statics_of_pe_[place] = memory.base_of(index, RemoteSegment::statics);
  }
  heap_ = {reinterpret_cast<std::uintptr_t>(heap_of_pe_[static_cast<std::size_t>(me_)]), heap_bytes,
           heap_of_pe_.data()};
}

void SharedSegments::share_statics(const StaticData& statics, const NodeMemory& memory) {
  std::byte*& mine = statics_of_pe_[static_cast<std::size_t>(me_)];
  move_to_shared_memory(statics, memory.arena().file(), memory.layout().statics(memory.index()),
                        mine);
  mine = reinterpret_cast<std::byte*>(statics.begin);
  statics_ = {statics.begin, statics.bytes(), statics_of_pe_.data()};
}

}  // namespace meshmem
