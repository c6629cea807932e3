// SPDX-License-Identifier: Apache-2.0
//
// The last step of a reduction, for one PE's share: combines the n PEs' elements in PE order, and
// writes the result to n addresses, one in each PE. A *vector* is 16 bytes of elements. The *lead*
// of an address is the number of elements before the next multiple of 16. A *place* is an index in
// the share.
// Invariant: the thread that writes a place has read it from all PEs before, so dest may be source.
// Used by the algorithms for large data.
#ifndef MESHMEM_DEVICE_COLLECTIVES_COMBINE_ALL_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_COMBINE_ALL_HPP_

#include "device/collectives/combine.hpp"
#include "device/collectives/slices.hpp"
#include "device/module.hpp"
#include "device/sync.hpp"

namespace meshmem {
namespace device {

// Translates a symmetric address of this PE into the address of the copy in the team's PE `pe`.
template <typename T>
MESHMEM_DEVICE T* in_member(const TeamSync& sync, T* address, int pe) {
  return pe == sync.team.me ? address : translate(address, world_pe_of(sync.team, pe));
}

template <typename E>
MESHMEM_DEVICE std::size_t lead_of(const E* address) {
  return (0 - reinterpret_cast<std::uintptr_t>(address)) % 16 / sizeof(E);
}

// from(pe) is the address of PE pe's elements. The result is written to to(0) ... to(n - 1), which
// may name the PEs in any order.
template <typename Op, typename E, typename Group, typename From, typename To>
class CombineAll {
 public:
  MESHMEM_DEVICE_MEMBER CombineAll(const Op& op, const Group& group, int n, const From& from,
                                   const To& to)
      : op_(op), group_(group), n_(n), from_(from), to_(to) {
#pragma unroll
    for (int k = 0; k < kInRegisters; ++k) {
      if (k >= n) continue;
      first_from_[k] = from(k);
      first_to_[k] = to(k);
    }
  }

  // Combines whole vectors, and single elements before and after them. If the leads differ, no
  // vector is aligned everywhere, and all elements are combined one by one.
  MESHMEM_DEVICE_MEMBER void run(std::size_t count) const {
    const std::size_t lead = lead_of(first_to_[0]);
    const std::size_t head = !all_have(lead) || lead > count ? count : lead;
    const std::size_t middle = (count - head) / Vector<E>::kElems * Vector<E>::kElems;
    run<Vector<E>>(head, middle);
    run<Vector<E, sizeof(E)>>(0, head);
    run<Vector<E, sizeof(E)>>(head + middle, count - head - middle);
  }

 private:
  // True if all addresses have this lead. Source and dest may have different leads. So may the
  // copies of a registered buffer in different PEs.
  MESHMEM_DEVICE_MEMBER bool all_have(std::size_t lead) const {
    bool all = true;
#pragma unroll
    for (int k = 0; k < kInRegisters; ++k)
      if (k < n_) all = all && lead_of(first_from_[k]) == lead && lead_of(first_to_[k]) == lead;
    for (int k = kInRegisters; k < n_; ++k)
      all = all && lead_of(from_(k)) == lead && lead_of(to_(k)) == lead;
    return all;
  }

  // The addresses of this many PEs are in registers; those of others are looked up at each use.
  // Narrow integers have only 2, since unrolled code for 8 PEs would be long: a vector holds 8 or
  // 16 of them.
  static constexpr int kInRegisters = sizeof(E) >= 4 || !std::is_integral<E>::value ? 8 : 2;

  template <typename V>
  MESHMEM_DEVICE_MEMBER static V load(const E* from) {
    return bit_cast<V>(load_of_get(reinterpret_cast<const Bits<sizeof(V)>*>(from)));
  }

  // Combines the vector (or element) at place i of all PEs. The first PEs' loads are under way at
  // the same time.
  template <typename V>
  MESHMEM_DEVICE_MEMBER void combine_place(std::size_t i) const {
    V arrived[kInRegisters] = {};
#pragma unroll
    for (int pe = 0; pe < kInRegisters; ++pe)
      if (pe < n_) arrived[pe] = load<V>(first_from_[pe] + i);
    VectorTotal<E, sizeof(V)> total;
    begin_total(total, arrived[0]);
#pragma unroll
    for (int pe = 1; pe < kInRegisters; ++pe)
      if (pe < n_) combine_into(op_, total, arrived[pe]);
    for (int pe = kInRegisters; pe < n_; ++pe) combine_into(op_, total, load<V>(from_(pe) + i));
    const V result = finished(op_, total, n_);
#pragma unroll
    for (int k = 0; k < kInRegisters; ++k)
      if (k < n_) store_plain(reinterpret_cast<V*>(first_to_[k] + i), result);
    for (int k = kInRegisters; k < n_; ++k) store_plain(reinterpret_cast<V*>(to_(k) + i), result);
  }

  // The same for at most kPes PEs, at several places that are `stride` apart, so that as many loads
  // are under way as in combine_place().
  template <typename V, int kPes>
  MESHMEM_DEVICE_MEMBER void combine_places(std::size_t i, std::size_t stride) const {
    constexpr int kPlaces = kInRegisters / kPes;
    V arrived[kPlaces][kPes] = {};
#pragma unroll
    for (int place = 0; place < kPlaces; ++place)
#pragma unroll
      for (int pe = 0; pe < kPes; ++pe)
        if (pe < n_)
          arrived[place][pe] =
              load<V>(first_from_[pe] + i + static_cast<std::size_t>(place) * stride);
#pragma unroll
    for (int place = 0; place < kPlaces; ++place) {
      VectorTotal<E, sizeof(V)> total;
      begin_total(total, arrived[place][0]);
#pragma unroll
      for (int pe = 1; pe < kPes; ++pe)
        if (pe < n_) combine_into(op_, total, arrived[place][pe]);
      const V result = finished(op_, total, n_);
#pragma unroll
      for (int k = 0; k < kPes; ++k)
        if (k < n_)
          store_plain(
              reinterpret_cast<V*>(first_to_[k] + i + static_cast<std::size_t>(place) * stride),
              result);
    }
  }
  // Combines kPlaces places at a time as long as that many are left. Returns the first place that
  // is not done.
  template <typename V, int kPes>
  MESHMEM_DEVICE_MEMBER std::size_t run_by_places(std::size_t i, std::size_t end,
                                                  std::size_t stride) const {
    constexpr auto kPlaces = static_cast<std::size_t>(kInRegisters / kPes);
#pragma unroll 1
    for (; i + (kPlaces - 1) * stride < end; i += kPlaces * stride)
      combine_places<V, kPes>(i, stride);
    return i;
  }

  template <typename V>
  MESHMEM_DEVICE_MEMBER void run(std::size_t begin, std::size_t count) const {
    constexpr std::size_t kElems = sizeof(V) / sizeof(E);
    const auto stride = static_cast<std::size_t>(group_.size()) * kElems;
    const std::size_t end = begin + count;
    std::size_t i = begin + static_cast<std::size_t>(group_.rank()) * kElems;
    // Each call works on several places at a time, and leaves the places that are too few to the
    // next call. The loop does the last ones one by one. With 2 PEs, 4 places are combined at a
    // time, and then 2.
    if constexpr (kElems > 1 && kInRegisters == 8) {
      if (n_ <= 2) i = run_by_places<V, 2>(i, end, stride);
      if (n_ <= 4) i = run_by_places<V, 4>(i, end, stride);
    }
#pragma unroll 1
    for (; i < end; i += stride) combine_place<V>(i);
  }

  const Op op_;
  const Group& group_;
  const int n_;
  const From& from_;
  const To& to_;
  const E* first_from_[kInRegisters] = {};
  E* first_to_[kInRegisters] = {};
};

template <typename E, typename Op, typename Group, typename From, typename To>
MESHMEM_DEVICE void combine_all(const Op& op, const Group& group, int n, const From& from,
                                const To& to, std::size_t count) {
  if (count > 0) CombineAll<Op, E, Group, From, To>(op, group, n, from, to).run(count);
}

// The elements of a reduction that each PE owns: the same number for each, in whole lines of 128
// bytes; the last PEs may have fewer. With at most a line for each PE they share by 16 bytes, so
// that all have something to do.
template <typename E>
class ElementShares {
  static_assert(sizeof(E) <= 16, "else a vector of 16 bytes has none");

 public:
  MESHMEM_DEVICE_MEMBER ElementShares(std::size_t count, int n) : count_(count) {
    constexpr std::size_t kLine = 128 / sizeof(E), kVector = 16 / sizeof(E);
    const auto pes = static_cast<std::size_t>(n);
    longest_ = count <= pes * kLine ? share_of<kVector>(pes) : share_of<kLine>(pes);
  }
  MESHMEM_DEVICE_MEMBER std::size_t longest() const { return longest_; }
  MESHMEM_DEVICE_MEMBER std::size_t begin_of(int pe) const {
    const std::size_t before = static_cast<std::size_t>(pe) * longest_;
    return before < count_ ? before : count_;
  }
  MESHMEM_DEVICE_MEMBER std::size_t count_of(int pe) const {
    return begin_of(pe + 1) - begin_of(pe);
  }

 private:
  template <std::size_t grain>
  MESHMEM_DEVICE_MEMBER std::size_t share_of(std::size_t pes) const {
    return ((count_ + grain - 1) / grain + pes - 1) / pes * grain;
  }

  std::size_t count_, longest_;
};

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_COMBINE_ALL_HPP_
