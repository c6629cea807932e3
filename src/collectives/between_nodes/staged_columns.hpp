// SPDX-License-Identifier: Apache-2.0
//
// Columns of data that the processor does not read where it is, such as device memory, or that has
// to be widened first. While a chunk is on the network, the data of the node's members for the next
// chunk comes into pinned memory. If a kernel of this PE can combine it, only the total comes;
// otherwise copy engines bring each member's term. Copy engines take results to all members.
// Invariant: no buffer is written before the copies and kernels that read it are done. Each PE
// decides for itself whether a kernel combines, since the order is the same. Used by columns.cpp.
#ifndef MESHMEM_COLLECTIVES_BETWEEN_NODES_STAGED_COLUMNS_HPP_
#define MESHMEM_COLLECTIVES_BETWEEN_NODES_STAGED_COLUMNS_HPP_

#include <array>
#include <vector>

#include "collectives/between_nodes/choice.hpp"
#include "collectives/between_nodes/column_memory.hpp"
#include "collectives/reduction.hpp"
#include "gpu/device_transfer.hpp"
#include "gpu/pinned_room.hpp"

namespace meshmem::between_nodes {

// The most bytes that the members of a node bring for one message, together: a chunk's terms lie in
// pinned memory, kTermsKept times.
inline constexpr std::size_t kStagedMessages = 1024 * kKiB;

// Whether copies reach both buffers on all members of the node. Both must be symmetric.
bool can_be_staged(const Team& team, const void* dest, const void* source, std::size_t bytes);
// Waits until the caller's copies into its own device memory have arrived.
void await_own_copies(const char* routine);

class StagedColumn : public ColumnMemory {
 public:
  StagedColumn(const Team& team, const Reduction& op, const ColumnPlan& plan, void* dest,
               const void* source);

  void open(int index, const schedule::Range& chunk, const schedule::Range& next) override;
  int n_terms() const override { return static_cast<int>(n_terms_); }
  const std::byte* term(int index, const schedule::Range& range, int number) override;
  std::byte* result(int index, const schedule::Range& range) override;
  void show(int index, const schedule::Range& range) override;
  void close() override;

 private:
  static constexpr int kTermsKept = kChunksAhead + 2;        // one is on its way
  static constexpr int kResultsKept = 2 * kChunksAhead + 2;  // one is on its way to the dests
  using Lane = DeviceTransfer::Lane;
  // The event behind a chunk's copies or kernel.
  struct Copies {
    Lane lane = device_transfer().lane();
    bool are_under_way = false;
  };
  // The streams of this column's copies, one for each direction: copies on each are in order.
  const Lane& fetching() const { return terms_[0].lane; }
  const Lane& showing() const { return results_[0].lane; }

  void fetch(int index, const schedule::Range& chunk);
  void fetch_total(std::byte* to, const schedule::Range& chunk);
  void widen(int index, const schedule::Range& chunk);
  void mark(Copies& copies, const Lane& behind);
  void await(Copies& copies);
  std::size_t within_chunk(int index, const schedule::Range& range) const {
    return range.begin - begin_of_[static_cast<std::size_t>(index % kResultsKept)];
  }
  bool has_total() const { return n_terms_ < members_; }
  bool widens() const { return op_.carrier && !has_total(); }
  // Where a term, or wide term, of a chunk begins.
  std::size_t place_of_term(int index, std::size_t number, std::size_t elem_bytes) const {
    const auto kept = static_cast<std::size_t>(index % kTermsKept);
    return (kept * n_terms_ + number) * chunk_ * elem_bytes;
  }

  const char* const routine_;
  const Reduction op_, combined_;
  const int n_;                   // PEs of the team, by which averages divide
  const std::size_t members_;     // of the node
  const std::size_t n_terms_;     // members_, or 1: their total
  const std::size_t term_bytes_;  // of an element
  const std::size_t chunk_;       // elements, at most
  const bool devices_copy_;       // whether devices copy results to each other
  const std::size_t me_;          // among the members
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
