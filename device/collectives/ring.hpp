// SPDX-License-Identifier: Apache-2.0
//
// Reductions around a ring: each PE passes partial sums of one share after the other to the next PE
// (reduce-scatter), then the results (all-gather). 2 (n - 1) steps, with the least bytes on a link.
// A reduce-scatter by itself is the first half: its shares are blocks of the source.
// Invariant: all PEs get the same bits, but shares are not added in PE order, and sums are rounded
// to elements at each step. This is for bandwidth, as in other libraries that use rings.
#ifndef MESHMEM_DEVICE_COLLECTIVES_RING_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_RING_HPP_

#include "device/collectives/combine_all.hpp"
#include "device/collectives/progress.hpp"
#include "device/copy.hpp"

namespace meshmem {
namespace device {

// If each PE has a link to every other one, the channels go around the ring by different strides,
// coprime with n. Together they use as many links of a PE as there are such strides, at most n - 1.
// Behind a switch all channels use stride 1: then no two PEs send to the same PE at a time, which
// was 4 % faster on 4 GPUs.
#if defined(MESHMEM_TARGET_IS_CUDA)
constexpr bool kLinkToEach = false;
#else
constexpr bool kLinkToEach = true;
#endif

struct RingPosition {
  int n, me, stride;

  MESHMEM_DEVICE_MEMBER RingPosition(const TeamView& team, int channel) : n(team.n), me(team.me) {
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

// The elements are divided into batches of equal length, as few as the space for plain data allows.
// A share is one n-th of a batch; those of the last batch may be shorter or empty. Share q begins
// at the PE after q, goes once around, and is complete in PE q, from where its result goes around.
// A large share goes in two chunks, one behind the other: while one is announced, the other is
// worked on. Batches take turns in the two parities, and follow each other at once.
//
// This is one batch: `count` elements of dest from `first` on, where its shares of `share` elements
// lie one behind the other. In a reduce-scatter `share` is 0, since each share begins at the same
// place of its PE's dest. In the source the shares are `spacing` elements apart. Otherwise
// `spacing` is 0.
template <typename E>
struct RingBatch {
  std::size_t first, count, chunk, share, spacing;

  // Chunk i of share q: where it begins in dest, how much further it begins in source, and how many
  // elements it has.
  MESHMEM_DEVICE_MEMBER std::size_t begin_of(int q, int i) const { return first + before(q, i); }
  MESHMEM_DEVICE_MEMBER std::size_t source_offset(int q) const {
    return static_cast<std::size_t>(q) * spacing;
  }
  MESHMEM_DEVICE_MEMBER std::size_t count_of(int q, int i) const {
    return before(q, i + 1) - before(q, i);
  }

 private:
  // The batch's elements before chunk i of share q.
  MESHMEM_DEVICE_MEMBER std::size_t before(int q, int i) const {
    const std::size_t elems =
        static_cast<std::size_t>(q) * share + static_cast<std::size_t>(i) * chunk;
    return elems < count ? elems : count;
  }
};

// Combines two vectors and rounds to elements. `pes`: the number of PEs if the result combines the
// elements of all PEs, else 1.
template <typename Known, typename E, std::size_t bytes>
MESHMEM_DEVICE Vector<E, bytes> combine_rounded(const Known& known, const Vector<E, bytes>& a,
                                                const Vector<E, bytes>& b, int pes) {
  Vector<E, bytes> result;
#pragma unroll
  for (std::size_t k = 0; k < Vector<E, bytes>::kElems; ++k)
    result.elem[k] = Total<E>::round(
        known.finish(known.combine(Total<E>::widen(a.elem[k]), Total<E>::widen(b.elem[k])), pes));
  return result;
}

// Combines vectors V. A thread loads several before it uses the first.
template <typename Op, typename V, typename Group>
MESHMEM_DEVICE void combine_vectors(const Op& op, const Group& group, V* to, V* second_to,
                                    const V* in, const V* own, std::size_t n, int pes) {
  using B = Bits<sizeof(V)>;
  // With elements of 1 byte and an operation that the compiler does not know, more would not fit
  // into the registers of AMD GPUs.
  constexpr std::size_t kMost = Op::kIsStatic || V::kElems < 16 ? 4 : 2;
  constexpr std::size_t kInFlight = sizeof(V) == 16 ? kMost : 1;
  const auto stride = static_cast<std::size_t>(group.size());
  const auto combine_some = [&](auto all_are_there, std::size_t i) {
    const auto is_there = [&](std::size_t k) {
      return decltype(all_are_there)::value || i + k * stride < n;
    };
    V arrived[kInFlight] = {}, mine[kInFlight] = {};
#pragma unroll
    for (std::size_t k = 0; k < kInFlight; ++k) {
      if (!is_there(k)) continue;
      arrived[k] = bit_cast<V>(load_of_get(reinterpret_cast<const B*>(in + i + k * stride)));
      mine[k] = bit_cast<V>(load_plain(reinterpret_cast<const B*>(own) + i + k * stride));
    }
    op.with([&](auto known) {
#pragma unroll
      for (std::size_t k = 0; k < kInFlight; ++k) {
        if (!is_there(k)) continue;
        const B total = bit_cast<B>(combine_rounded(known, arrived[k], mine[k], pes));
        store_plain(reinterpret_cast<B*>(to) + i + k * stride, total);
        if (second_to) store_plain(reinterpret_cast<B*>(second_to) + i + k * stride, total);
      }
    });
  };
  auto i = static_cast<std::size_t>(group.rank());
#pragma unroll 1
  for (; i + (kInFlight - 1) * stride < n; i += kInFlight * stride)
    combine_some(std::true_type(), i);
  if (i < n) combine_some(std::false_type(), i);
}

// Sets to[i], and second_to[i] unless second_to is null, to in[i] op own[i]. Another PE wrote `in`.
// `pes`: see combine_rounded().
template <typename Op, typename E, typename Group>
MESHMEM_DEVICE void combine_run(const Op& op, const Group& group, E* to, E* second_to, const E* in,
                                const E* own, std::size_t n, int pes) {
  using V = Vector<E>;
  const std::size_t lead = lead_of(to);
  // True if all of them are aligned for vectors from the same element on.
  const bool even =
      lead_of(in) == lead && lead_of(own) == lead && (!second_to || lead_of(second_to) == lead);
  const std::size_t head = !even || lead > n ? n : lead;
  const std::size_t vectors = (n - head) / V::kElems, done = head + vectors * V::kElems;
  const auto after = [second_to](std::size_t elems) {
    return second_to ? second_to + elems : nullptr;
  };
  // Combines `runs` vectors of this type from element `first` on.
  const auto combine_as = [&](auto type, std::size_t first, std::size_t runs) {
    using Run = decltype(type);
    combine_vectors(op, group, reinterpret_cast<Run*>(to + first),
                    reinterpret_cast<Run*>(after(first)), reinterpret_cast<const Run*>(in + first),
                    reinterpret_cast<const Run*>(own + first), runs, pes);
  };
  combine_as(V{}, head, vectors);
  combine_as(Vector<E, sizeof(E)>{}, 0, head);
  combine_as(Vector<E, sizeof(E)>{}, done, n - done);
}

// A PE never waits for a free slot, since a chunk of sums has its own slot in the next PE for each
// step. A PE that has all sums of a batch knows that all PEs have begun this batch, so they have
// read the slots of the batch before. The next batch, of that one's parity, may write these slots
// again. A result goes straight into the next PE's dest: that PE has contributed to it, so it has
// entered, and has read that chunk of its source. A batch does not wait for its last results. The
// previous PE announces the next batch's first sums after them, so the wait for these sums covers
// both.
template <typename Op, typename E, typename Group>
struct RingReduction {
  using Batch = RingBatch<E>;

  const Op op;
  const Group& group;
  const TeamSync& sync;
  RingPosition ring;
  int chunks;  // of a share
  E* dest;
  const E* source;
  std::size_t slot_bytes;  // of a chunk's sums
  std::size_t lead_bytes;  // before them

  // `is_last`: no batch follows, so this one waits for its last results itself.
  MESHMEM_DEVICE_MEMBER void run(const Batch& batch, std::uint64_t epoch, bool is_last) const {
    const Workers workers(group);
    const bool scatters = batch.spacing != 0;
    const int sends = scatters ? ring.n - 1 : 2 * (ring.n - 1);
    const int steps = scatters ? ring.n : sends;
    const int previous = ring.before(1);
    // Counts the chunks of all steps, from 1. In the step before, the same chunk's number was less
    // by `chunks`.
    int number = 0;
#pragma unroll 1
    for (int chunk = 0; chunk < chunks; ++chunk) {
      if (workers.includes_this_thread()) send_own(workers, batch, epoch, chunk);
      announce(workers, group, sync, ring.next(), epoch, ++number);
    }
#pragma unroll 1
    for (int step = 1; step < steps; ++step) {
#pragma unroll 1
      for (int chunk = 0; chunk < chunks; ++chunk) {
        ++number;
        if (workers.includes_this_thread()) {
          await_by_waves(group, sync, previous, epoch, number - chunks);
          if (step < ring.n)
            combine_sums(workers, batch, epoch, step, chunk);
          else
            pass_result(workers, batch, step, chunk);
        }
        if (step < sends) announce(workers, group, sync, ring.next(), epoch, number);
      }
    }
    if (is_last && !scatters) await_by_waves(group, sync, previous, epoch, number);
  }

 private:
  MESHMEM_DEVICE_MEMBER void send_own(const Workers& workers, const Batch& batch,
                                      std::uint64_t epoch, int chunk) const {
    const int q = ring.before(1);
    copy<OwnSource, kManyInFlight>(workers, slot(ring.next(), epoch, 0, chunk),
                                   source + batch.source_offset(q) + batch.begin_of(q, chunk),
                                   batch.count_of(q, chunk) * sizeof(E));
  }
  MESHMEM_DEVICE_MEMBER void combine_sums(const Workers& workers, const Batch& batch,
                                          std::uint64_t epoch, int step, int chunk) const {
    const int q = ring.before(step + 1);
    const std::size_t begin = batch.begin_of(q, chunk), count = batch.count_of(q, chunk);
    const bool is_result = q == ring.me;  // all other PEs are in the sum
    combine_run(op, workers, is_result ? dest + begin : slot(ring.next(), epoch, step, chunk),
                is_result && batch.spacing == 0 ? in_next(dest + begin, count) : nullptr,
                slot(ring.me, epoch, step - 1, chunk), source + batch.source_offset(q) + begin,
                count, is_result ? ring.n : 1);
  }
  MESHMEM_DEVICE_MEMBER void pass_result(const Workers& workers, const Batch& batch, int step,
                                         int chunk) const {
    const int q = ring.before(step + 1 - ring.n);
    const std::size_t begin = batch.begin_of(q, chunk), count = batch.count_of(q, chunk);
    if (count > 0)
      copy<OthersSource, kManyInFlight>(workers, in_next(dest + begin, count), dest + begin,
                                        count * sizeof(E));
  }

  // Where PE `pe` gets the sums of a step and chunk.
  MESHMEM_DEVICE_MEMBER E* slot(int pe, std::uint64_t epoch, int step, int chunk) const {
    return reinterpret_cast<E*>(plain_rows(sync, pe, epoch) +
                                static_cast<std::size_t>(step * chunks + chunk) * slot_bytes +
                                lead_bytes);
  }
  // Returns `address` in the next PE; null if `count` is 0.
  MESHMEM_DEVICE_MEMBER E* in_next(E* address, std::size_t count) const {
    return count == 0 ? nullptr : translate(address, world_pe_of(sync.team, ring.next()));
  }
};

// Needs at least two PEs and one element. spacing: 0, or in a reduce-scatter how many elements
// apart the source's blocks are, one for each PE. Of each block `count` elements are reduced.
template <typename Op, typename E, typename Group>
MESHMEM_DEVICE void reduce_ring(const Op& op, const Group& group, const TeamSync& sync, E* dest,
                                const E* source, std::size_t count, std::size_t spacing) {
  static_assert(sizeof(E) <= 16, "an element fits into what moves at once");
  constexpr std::size_t kOneChunkBytes = 16 << 10;  // sending less takes no longer than a flag
  const auto n = static_cast<std::size_t>(sync.team.n);
  const std::size_t shares = spacing == 0 ? n : 1;  // in `count` elements
  const std::size_t chunks = count / shares * sizeof(E) > kOneChunkBytes ? 2 : 1;
  const std::size_t room = plain_bytes(sync) / (chunks * (n - 1)), align = alignment_of_slots(room);
  const std::size_t slot_bytes = room / align * align;
  const std::size_t lead_bytes = lead_in_slots(source);
  const RingReduction<Op, E, Group> reduction{op,
                                              group,
                                              sync,
                                              RingPosition(sync.team, sync.channel),
                                              static_cast<int>(chunks),
                                              dest,
                                              source,
                                              slot_bytes,
                                              lead_bytes};
  // Batches have equal lengths, since a short last one would take as many steps as the others. So
  // all chunks of all batches have the same number of grains. With one grain in each chunk, a batch
  // has batch_grain elements, and all batches have grain_in_each elements.
  const std::size_t grain = align / sizeof(E);
  const std::size_t batch_grain = chunks * shares * grain;
  const std::size_t most = (slot_bytes - lead_bytes) / align * batch_grain;
  const std::size_t batches = (count + most - 1) / most, grain_in_each = batches * batch_grain;
  const std::size_t grains = (count + grain_in_each - 1) / grain_in_each;  // of a chunk
  const std::size_t chunk = grains * grain, batch_elems = grains * batch_grain;
  std::uint64_t epoch = sync.epoch();

  group.sync();  // before it, other threads may still write source and read dest
  for (std::size_t first = 0; first < count; first += batch_elems) {
    const bool is_last = count - first <= batch_elems;
    epoch = next_epoch(group, sync, epoch);
    reduction.run({first, is_last ? count - first : batch_elems, chunk,
                   spacing == 0 ? chunks * chunk : 0, spacing},
                  epoch, is_last);
  }
  group.sync();
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_RING_HPP_
