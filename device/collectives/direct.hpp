// SPDX-License-Identifier: Apache-2.0
//
// Reductions of large data by stores, in two hops. First each PE pushes to every other PE the share
// of its source that the other PE owns (reduce-scatter). Then the owner combines in PE order and
// pushes the result to all dests (all-gather). No PE loads over a link, and the hops overlap.
// Invariant: a sender refills a slot only after the owner has read it. An owner writes a dest only
// after that PE has read the same chunk of its source.
#ifndef MESHMEM_DEVICE_COLLECTIVES_DIRECT_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_DIRECT_HPP_

#include "device/collectives/combine_all.hpp"
#include "device/collectives/progress.hpp"
#include "device/copy.hpp"

namespace meshmem {
namespace device {

// A PE has kSlots slots for each other PE. A chunk is at most what fits into a slot, and a share of
// more than kOneChunkBytes has at least two. In step k a PE sends chunk k to all, then combines
// chunk k - 1. In a large group the last wave only announces, and the others do the rest (Workers).
//
// Four slots suffice: a PE sends chunk k after it has received chunk k - 2 from all. They sent
// chunk k - 2 after they had combined chunk k - 4, whose slots chunk k uses. dest may be the
// source: a result goes to a PE only after this PE has sent the same chunk of its source, and so
// has read it. A PE that finishes has received chunks from all PEs, so all have entered, which
// sync.hpp relies on.
template <typename Op, typename E, typename Group>
class DirectReduction {
 public:
  MESHMEM_DEVICE_MEMBER DirectReduction(const Op& op, const Group& group, const TeamSync& sync,
                                        E* dest, const E* source, std::size_t count)
      : op_(op),
        group_(group),
        sync_(sync),
        dest_(dest),
        source_(source),
        shares_(count, sync.team.n) {
    const auto others = static_cast<std::size_t>(sync.team.n - 1);
    const std::size_t room = plain_bytes(sync) / others / kSlots, align = alignment_of_slots(room);
    slot_bytes_ = room / align * align;  // at least 32
    lead_bytes_ = lead_in_slots(source);
    const std::size_t grain = align / sizeof(E);
    const std::size_t most = (slot_bytes_ - lead_bytes_) / align * grain;
    n_chunks_ = (shares_.longest() + most - 1) / most;
    if (n_chunks_ == 1 && shares_.longest() * sizeof(E) > kOneChunkBytes) n_chunks_ = 2;
    chunk_elems_ = (shares_.longest() + n_chunks_ * grain - 1) / (n_chunks_ * grain) * grain;
  }

  MESHMEM_DEVICE_MEMBER void run() const {
    std::uint64_t epoch = sync_.epoch();
    group_.sync();  // before it, other threads may still write source and read dest
    for (std::size_t first = 0; first < n_chunks_; first += kMostSteps) {
      const std::size_t left = n_chunks_ - first;
      epoch = next_epoch(group_, sync_, epoch);
      run_epoch(epoch, first, static_cast<int>(left < kMostSteps ? left : kMostSteps));
    }
    group_.sync();
  }

 private:
  static constexpr std::size_t kOneChunkBytes = 8 << 10;  // takes no longer than a flag
  static constexpr int kSlots = 4;
  static constexpr std::size_t kMostSteps = (std::size_t{1} << kStepBits) - 8;  // of one epoch

  // The steps of an epoch: `chunks` chunks from chunk `first` on.
  MESHMEM_DEVICE_MEMBER void run_epoch(std::uint64_t epoch, std::size_t first, int chunks) const {
    const Workers workers(group_);
    for (int k = 0; k <= chunks; ++k) {
      if (k < chunks) {
        if (workers.includes_this_thread()) send(workers, epoch, first, k);
        announce_to_all(workers, group_, sync_, epoch, k + 1);
      }
      if (k > 0 && workers.includes_this_thread()) {
        await_all_by_waves(group_, sync_, epoch, k);
        combine(workers, epoch, first, k - 1);
      }
    }
    announce_to_all(workers, group_, sync_, epoch, chunks + 1);  // the last results are stored
    await_all_by_waves(group_, sync_, epoch, chunks + 1);
  }

  MESHMEM_DEVICE_MEMBER void send(const Workers& workers, std::uint64_t epoch, std::size_t first,
                                  int k) const {
#pragma unroll 1
    for (int i = 1; i < sync_.team.n; ++i) {
      const int owner = sync_.peer(i);
      copy<OwnSource, kManyInFlight>(workers, slot(owner, sync_.team.me, epoch, k),
                                     source_ + begin_of(owner, first, k),
                                     count_of(owner, first, k) * sizeof(E));
    }
  }
  MESHMEM_DEVICE_MEMBER void combine(const Workers& workers, std::uint64_t epoch, std::size_t first,
                                     int k) const {
    const int me = sync_.team.me;
    const std::size_t begin = begin_of(me, first, k);
    before_get();
    combine_all<E>(
        op_, workers, sync_.team.n,
        [&](int pe) -> const E* { return pe == me ? source_ + begin : slot(me, pe, epoch, k); },
        [&](int i) { return in_member(sync_, dest_ + begin, sync_.peer(i)); },
        count_of(me, first, k));
  }

  // Where PE `from` stores chunk k for PE `owner`.
  MESHMEM_DEVICE_MEMBER E* slot(int owner, int from, std::uint64_t epoch, int k) const {
    const int after = from - owner - 1;
    const auto row = static_cast<std::size_t>(after < 0 ? after + sync_.team.n : after);
    const std::size_t before = row * kSlots + static_cast<std::size_t>(k % kSlots);
    return reinterpret_cast<E*>(plain_rows(sync_, owner, epoch) + before * slot_bytes_ +
                                lead_bytes_);
  }
  MESHMEM_DEVICE_MEMBER std::size_t begin_of(int owner, std::size_t first, int k) const {
    const std::size_t before = (first + static_cast<std::size_t>(k)) * chunk_elems_;
    const std::size_t share = shares_.count_of(owner);
    return shares_.begin_of(owner) + (before < share ? before : share);
  }
  MESHMEM_DEVICE_MEMBER std::size_t count_of(int owner, std::size_t first, int k) const {
    return begin_of(owner, first, k + 1) - begin_of(owner, first, k);
  }

  const Op op_;
  const Group& group_;
  const TeamSync& sync_;
  E* const dest_;
  const E* const source_;
  const ElementShares<E> shares_;
  std::size_t slot_bytes_, lead_bytes_;
  std::size_t n_chunks_;     // of the longest share
  std::size_t chunk_elems_;  // of each of its chunks but the last
};

// Needs at least two PEs.
template <typename Op, typename E, typename Group>
MESHMEM_DEVICE void reduce_direct(const Op& op, const Group& group, const TeamSync& sync, E* dest,
                                  const E* source, std::size_t count) {
  DirectReduction<Op, E, Group>(op, group, sync, dest, source, count).run();
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_DIRECT_HPP_
