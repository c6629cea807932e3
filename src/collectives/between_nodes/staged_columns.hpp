// SPDX-License-Identifier: Apache-2.0
//
// Columns of data that the processor does not read where it is, as device memory, or that has to
// be widened first: copy engines bring what the node's members have of the next chunk into pinned
// memory while the chunk before is combined and on the network, and take results to all of them.
// Invariant: no buffer is written before the copies that read it are done. Used by columns.cpp.
#ifndef MESHMEM_COLLECTIVES_BETWEEN_NODES_STAGED_COLUMNS_HPP_
#define MESHMEM_COLLECTIVES_BETWEEN_NODES_STAGED_COLUMNS_HPP_

#include <array>
#include <memory>
#include <vector>

#include "collectives/between_nodes/choice.hpp"
#include "collectives/between_nodes/column_memory.hpp"
#include "collectives/reduction.hpp"
#include "gpu/device_transfer.hpp"
#include "gpu/pinned_room.hpp"

namespace meshmem::between_nodes {

// What the members of a node bring of one piece, together, at most: a chunk's terms lie in pinned
// memory, kTermsKept times.
inline constexpr std::size_t kStagedMessages = 1024 * kKiB;

// Whether copies reach both buffers of all members of the node: they are symmetric.
bool can_be_staged(const Team& team, const void* dest, const void* source, std::size_t bytes);
// What the reduction combines: its elements, or what carries them.
Reduction as_combined(const Reduction& op);
// What the caller has put into its own device memory is there.
void await_own_copies(const char* routine);

class StagedColumn : public ColumnMemory {
 public:
  StagedColumn(const Team& team, const Reduction& op, const ColumnPlan& plan, void* dest,
               const void* source);

  void open(int index, const schedule::Range& chunk, const schedule::Range& next) override;
  const std::byte* term(int index, const schedule::Range& range, int member) override;
  std::byte* result(int index, const schedule::Range& range) override;
  void show(int index, const schedule::Range& range) override;
  void close() override;

 private:
  static constexpr int kTermsKept = kChunksAhead + 2;        // one is on its way
  static constexpr int kResultsKept = 2 * kChunksAhead + 2;  // one is on its way to the dests
  using Lane = DeviceTransfer::Lane;
  // An event behind the copies of a chunk.
  struct Copies {
    std::unique_ptr<Lane> lane{new Lane(device_transfer().lane())};
    bool are_under_way = false;
  };
  // Copies in order, apart from those of others.
  const Lane& fetching() const { return *terms_[0].lane; }
  const Lane& showing() const { return *results_[0].lane; }

  void fetch(int index, const schedule::Range& chunk);
  void widen(int index, const schedule::Range& chunk);
  void mark(Copies& copies, const Lane& behind);
  void await(Copies& copies);
  std::size_t within_chunk(int index, const schedule::Range& range) const {
    return range.begin - begin_of_[static_cast<std::size_t>(index % kResultsKept)];
  }
  // Of a chunk's terms, or wide terms: where those of a member begin.
  std::size_t place_of_term(int index, std::size_t member, std::size_t elem_bytes) const {
    const auto kept = static_cast<std::size_t>(index % kTermsKept);
    return (kept * members_ + member) * chunk_ * elem_bytes;
  }

  const char* const routine_;
  const Reduction op_, combined_;
  const int n_;                // PEs of the team, by which averages divide
  const std::size_t members_;  // of the node
  const std::size_t chunk_;    // elements, at most
  std::vector<std::byte*> dests_;
  std::vector<const std::byte*> sources_;
  std::array<Copies, kTermsKept> terms_;
  std::array<Copies, kResultsKept> results_;
  std::array<std::size_t, kResultsKept> begin_of_{};
  PinnedRoom terms_room_, results_room_;
  Room wide_room_;
};

}  // namespace meshmem::between_nodes

#endif  // MESHMEM_COLLECTIVES_BETWEEN_NODES_STAGED_COLUMNS_HPP_
