// SPDX-License-Identifier: Apache-2.0
//
// Reductions around a ring: each PE passes partial sums of one chunk after the other to the next PE
// (reduce-scatter), then the results (all-gather). 2 (n - 1) steps, with the least bytes on a link.
// Words: a *part* is what fits into the space for plain data at once, a *chunk* one n-th of it; chunk q
// begins at PE q, goes once around, and is complete in the PE before q, from where its result goes
// around. Parts take turns in the two parities.
// Invariant: a chunk of sums has its own place in the next PE for each step, so nobody waits for a
// place. A result is pushed straight into the next PE's dest: that PE has contributed to it, so it has
// entered, and has read that chunk of its source. Whoever has a result knows that all have entered.
// Sums travel as elements, rounded at each step, as they are for others too that use rings: this is
// for bandwidth. All PEs get the same bits, but chunks are not added in PE order.
#ifndef MESHMEM_DEVICE_COLLECTIVES_RING_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_RING_HPP_

#include "device/collectives/combine_all.hpp"
#include "device/collectives/progress.hpp"
#include "device/copy.hpp"

namespace meshmem {
namespace device {

// Where each PE has a link to each, channels go around in strides that differ, coprime with n, so that
// together they use n - 1 links of a PE, or as many as there are such strides. Behind a switch all
// go the same way: then no two PEs send to the same one at a time, which was 4 % faster on 4 GPUs.
#if defined(MESHMEM_TARGET_IS_CUDA)
constexpr bool kLinkToEach = false;
#else
constexpr bool kLinkToEach = true;
#endif

struct RingPlace {
  int n, me, stride;

  MESHMEM_DEVICE_MEMBER RingPlace(const TeamView& team, int channel) : n(team.n), me(team.me) {
    stride = 1;
    for (int k = 0; kLinkToEach && k < channel % n; ++k) {
      do stride = stride + 1 < n ? stride + 1 : 1;
      while (!is_coprime(stride, n));
    }
  }
  MESHMEM_DEVICE_MEMBER static bool is_coprime(int a, int b) {
    while (b != 0) {
      const int rest = a % b;
      a = b;
      b = rest;
    }
    return a == 1;
  }
  // The PE that is k strides before this one; k up to n.
  MESHMEM_DEVICE_MEMBER int before(int k) const {
    return static_cast<int>(static_cast<unsigned>(me + (n - k) * stride) %
                            static_cast<unsigned>(n));
  }
  MESHMEM_DEVICE_MEMBER int next() const { return (me + stride) % n; }
};

// A part of the elements, and its chunks.
template <typename E>
struct RingPart {
  std::size_t first, count, chunk;

  MESHMEM_DEVICE_MEMBER std::size_t begin_of(int q) const {
    const std::size_t before = static_cast<std::size_t>(q) * chunk;
    return first + (before < count ? before : count);
  }
  MESHMEM_DEVICE_MEMBER std::size_t count_of(int q) const { return begin_of(q + 1) - begin_of(q); }
};

// `pes`: how many PEs' elements these two make, if it is all of them; else 1.
template <ReduceOp op, typename E>
MESHMEM_DEVICE E combine_rounded(E a, E b, int pes) {
  return Total<E>::rounded(finish<op>(combine<op>(Total<E>::of(a), Total<E>::of(b)), pes));
}
template <ReduceOp op, typename E>
MESHMEM_DEVICE Vector<E> combine_rounded(const Vector<E>& a, const Vector<E>& b, int pes) {
  Vector<E> result;
#pragma unroll
  for (std::size_t k = 0; k < Vector<E>::kElems; ++k)
    result.elem[k] = combine_rounded<op>(a.elem[k], b.elem[k], pes);
  return result;
}

// Elements or vectors of them, V; several loads under way before the first is used.
template <ReduceOp op, typename V, typename Group>
MESHMEM_DEVICE void combine_run_of(const Group& group, V* to, V* also, const V* in, const V* own,
                                   std::size_t n, int pes) {
  using B = Bits<sizeof(V)>;
  constexpr std::size_t kInFlight = sizeof(V) == 16 ? 4 : 1;
  const auto step = static_cast<std::size_t>(group.size());
  const auto combine_some = [&](auto some, std::size_t i) {
    constexpr std::size_t kSome = decltype(some)::value;
    V arrived[kSome], mine[kSome];
#pragma unroll
    for (std::size_t k = 0; k < kSome; ++k) {
      arrived[k] = bit_cast<V>(load_of_get(reinterpret_cast<const B*>(in + i + k * step)));
      mine[k] = bit_cast<V>(reinterpret_cast<const B*>(own)[i + k * step]);
    }
#pragma unroll
    for (std::size_t k = 0; k < kSome; ++k) {
      const B total = bit_cast<B>(combine_rounded<op>(arrived[k], mine[k], pes));
      reinterpret_cast<B*>(to)[i + k * step] = total;
      if (also) reinterpret_cast<B*>(also)[i + k * step] = total;
    }
  };
  auto i = static_cast<std::size_t>(group.rank());
#pragma unroll 1
  for (; i + (kInFlight - 1) * step < n; i += kInFlight * step)
    combine_some(std::integral_constant<std::size_t, kInFlight>(), i);
#pragma unroll 1
  for (; i < n; i += step) combine_some(std::integral_constant<std::size_t, 1>(), i);
}

// to[i] = in[i] op own[i], and also[i], unless `also` is null. Another PE wrote `in`. `pes`: see
// combine_rounded().
template <ReduceOp op, typename E, typename Group>
MESHMEM_DEVICE void combine_run(const Group& group, E* to, E* also, const E* in, const E* own,
                                std::size_t n, int pes) {
  using V = Vector<E>;
  const std::size_t lead = lead_of(to);
  const bool even = lead_of(in) == lead && lead_of(own) == lead && (!also || lead_of(also) == lead);
  const std::size_t head = !even || lead > n ? n : lead;
  const std::size_t vectors = (n - head) / V::kElems, done = head + vectors * V::kElems;
  const auto after = [also](std::size_t elems) { return also ? also + elems : nullptr; };
  combine_run_of<op>(group, reinterpret_cast<V*>(to + head), reinterpret_cast<V*>(after(head)),
                     reinterpret_cast<const V*>(in + head), reinterpret_cast<const V*>(own + head),
                     vectors, pes);
  combine_run_of<op>(group, to, also, in, own, head, pes);
  combine_run_of<op>(group, to + done, after(done), in + done, own + done, n - done, pes);
}

template <ReduceOp op, typename E, typename Group>
struct RingReduction {
  const Group& group;
  const TeamSync& sync;
  RingPlace ring;
  E* dest;
  const E* source;
  std::size_t place_bytes;  // of a chunk's sums
  std::size_t lead_bytes;   // before them

  // Where PE `pe` gets the sums of a step.
  MESHMEM_DEVICE_MEMBER E* place(int pe, std::uint64_t epoch, int step) const {
    return reinterpret_cast<E*>(plain_rows(sync, pe, epoch) +
                                static_cast<std::size_t>(step) * place_bytes + lead_bytes);
  }
  // The next PE's dest; null where nothing is to be written.
  MESHMEM_DEVICE_MEMBER E* dest_of_next(const RingPart<E>& part, int q) const {
    if (part.count_of(q) == 0) return nullptr;
    return translate(dest + part.begin_of(q), world_pe_of(sync.team, ring.next()));
  }

  MESHMEM_DEVICE_MEMBER void run(const RingPart<E>& part, std::uint64_t epoch) const {
    const int steps = ring.n - 1, me = ring.me, next = ring.next(), previous = ring.before(1);
    copy<OwnSource, kManyInFlight>(group, place(next, epoch, 0), source + part.begin_of(me),
                                   part.count_of(me) * sizeof(E));
    for (int step = 1; step <= steps; ++step) {
      announce(group, sync, next, epoch, step);
      await(group, sync, previous, epoch, step);
      const int q = ring.before(step);
      const bool is_result = step == steps;  // the chunk has been everywhere but here
      combine_run<op>(group, is_result ? dest + part.begin_of(q) : place(next, epoch, step),
                      is_result ? dest_of_next(part, q) : nullptr, place(me, epoch, step - 1),
                      source + part.begin_of(q), part.count_of(q), is_result ? ring.n : 1);
    }
    for (int step = 0;; ++step) {
      announce(group, sync, next, epoch, steps + step + 1);
      await(group, sync, previous, epoch, steps + step + 1);
      if (step + 1 == steps) break;
      const int q = ring.before(step);
      if (part.count_of(q) > 0)
        copy<OthersSource, kManyInFlight>(group, dest_of_next(part, q), dest + part.begin_of(q),
                                          part.count_of(q) * sizeof(E));
    }
  }
};

// For two PEs or more.
template <ReduceOp op, typename E, typename Group>
MESHMEM_DEVICE void reduce_ring(const Group& group, const TeamSync& sync, E* dest, const E* source,
                                std::size_t count) {
  constexpr std::size_t kGrain = 16 / sizeof(E);
  const auto n = static_cast<std::size_t>(sync.team.n);
  const std::size_t place_bytes = plain_bytes(sync) / (n - 1) / 16 * 16;
  const std::size_t lead_bytes = lead_of_places(source);
  const RingReduction<op, E, Group> reduction{
      group, sync, RingPlace(sync.team, sync.channel), dest, source, place_bytes, lead_bytes};
  const std::size_t most = (place_bytes - lead_bytes) / 16 * 16 / sizeof(E) * n;
  std::uint64_t epoch = sync.epoch();

  group.sync();  // until they entered, others may have written source and read dest
  for (std::size_t first = 0; first < count; first += most) {
    const std::size_t in_part = count - first < most ? count - first : most;
    const std::size_t chunk = ((in_part + n - 1) / n + kGrain - 1) / kGrain * kGrain;
    epoch = next_epoch(group, sync, epoch);
    reduction.run(RingPart<E>{first, in_part, chunk}, epoch);
  }
  group.sync();
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_RING_HPP_
