// SPDX-License-Identifier: Apache-2.0
//
// Broadcasts of large data by relays: the root deals chunks out among the other PEs, straight into
// their dest, and each of them hands its own on to the rest. So no PE sends more bytes than the
// data has.
// Invariant: a dest is written only after its PE has entered, and is complete when the kernel ends.
// For three PEs or more, as a kernel's only work. Called by kernels/broadcasts.cpp.
#ifndef MESHMEM_DEVICE_COLLECTIVES_RELAYS_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_RELAYS_HPP_

#include "device/collectives/moves.hpp"
#include "device/collectives/progress.hpp"

namespace meshmem {
namespace device {

// All PEs but the root are relays, numbered from the one after the root on.
MESHMEM_DEVICE int relay_of(const TeamView& team, int root, int pe) {
  return pe > root ? pe - root - 1 : pe + team.n - root - 1;
}
MESHMEM_DEVICE int pe_of_relay(const TeamView& team, int root, int relay) {
  const int pe = root + 1 + relay;
  return pe < team.n ? pe : pe - team.n;
}

// In step k the root sends every relay its chunk k. It announces the step while it sends the chunks
// of the next. The chunks of a step lie side by side. A relay hands its chunk on when it has
// arrived, without a flag: the other PEs may read it only after the meeting at the end.
template <typename Group>
class RelayedBroadcast {
 public:
  MESHMEM_DEVICE_MEMBER RelayedBroadcast(const Group& group, const TeamSync& sync, std::byte* dest,
                                         const std::byte* source, std::size_t bytes, int root,
                                         std::size_t chunk)
      : group_(group),
        sync_(sync),
        workers_(group),
        dest_(dest),
        source_(source),
        bytes_(bytes),
        chunk_(chunk),
        step_(chunk * static_cast<std::size_t>(sync.team.n - 1)),
        root_(root) {}

  MESHMEM_DEVICE_MEMBER void run() const {
    enter_after_kernels(group_, sync_);
    const std::uint64_t epoch = sync_.epoch();
    const int me = sync_.team.me;
    const auto mine = static_cast<std::size_t>(relay_of(sync_.team, root_, me));
    int step = 1;
#pragma unroll 1
    for (std::size_t begin = 0; begin < bytes_; begin += step_, ++step) {
      if (me == root_) {
        if (workers_.has_caller()) deal_out(begin, at_most(step_, bytes_ - begin));
        announce_to_all(workers_, group_, sync_, epoch, step);
      } else if (begin + mine * chunk_ < bytes_ && workers_.has_caller()) {
        const std::size_t at = begin + mine * chunk_;
        await_by_waves(group_, sync_, root_, epoch, step);
        hand_on(at, at_most(chunk_, bytes_ - at));
      }
    }
    team_sync(group_, sync_);
  }

 private:
  static constexpr std::size_t kTogether = 4;  // a thread loads a vector of each of 4 chunks
  MESHMEM_DEVICE_MEMBER static std::size_t at_most(std::size_t a, std::size_t b) {
    return a < b ? a : b;
  }
  MESHMEM_DEVICE_MEMBER std::byte* dest_of_relay(std::size_t relay) const {
    const int pe = pe_of_relay(sync_.team, root_, static_cast<int>(relay));
    return translate(dest_, world_pe_of(sync_.team, pe));
  }

  // Sends `bytes` bytes from `begin` on to their relays, and copies them to the root's dest.
  MESHMEM_DEVICE_MEMBER void deal_out(std::size_t begin, std::size_t bytes) const {
    const auto ends =
        reinterpret_cast<std::uintptr_t>(dest_) | reinterpret_cast<std::uintptr_t>(source_);
    if (((ends | bytes | chunk_) & 15) != 0 || !is_equally_aligned(dest_)) {
      for (std::size_t at = 0, relay = 0; at < bytes; at += chunk_, ++relay)
        copy<OwnSource>(workers_, dest_of_relay(relay) + begin + at, source_ + begin + at,
                        at_most(chunk_, bytes - at));
      return copy_own(workers_, dest_ + begin, source_ + begin, bytes);
    }
    const std::size_t vectors = bytes / 16, of_chunk = chunk_ / 16;
    const auto stride = static_cast<std::size_t>(workers_.size());
    const auto* const from = reinterpret_cast<const Bits128*>(source_ + begin);
#pragma unroll 1
    for (std::size_t first = 0; first * of_chunk < vectors; first += kTogether) {
      Bits128* there[kTogether];  // where the data of this step begins at each relay
#pragma unroll
      for (std::size_t k = 0; k < kTogether; ++k) {
        const std::size_t at = (first + k) * of_chunk;
        there[k] =
            reinterpret_cast<Bits128*>(dest_of_relay(at < vectors ? first + k : first) + begin);
      }
#pragma unroll 1
      for (auto v = static_cast<std::size_t>(workers_.rank()); v < of_chunk; v += stride) {
        Bits128 vector[kTogether] = {};
        const auto at = [&](std::size_t k) { return (first + k) * of_chunk + v; };
#pragma unroll
        for (std::size_t k = 0; k < kTogether; ++k)
          if (at(k) < vectors) vector[k] = load_plain(from + at(k));
#pragma unroll
        for (std::size_t k = 0; k < kTogether; ++k) {
          if (at(k) >= vectors) continue;
          store_plain(there[k] + at(k), vector[k]);
          if (dest_ != source_)
            store_plain(reinterpret_cast<Bits128*>(dest_ + begin) + at(k), vector[k]);
        }
      }
    }
  }
  // Sends this relay's chunk, which begins at `at`, to the other relays.
  MESHMEM_DEVICE_MEMBER void hand_on(std::size_t at, std::size_t bytes) const {
#pragma unroll 1
    for (int i = 1; i < sync_.team.n; ++i) {
      const int pe = sync_.peer(i);
      if (pe != root_)
        copy<OwnSource>(workers_, translate(dest_ + at, world_pe_of(sync_.team, pe)), dest_ + at,
                        bytes);
    }
  }

  const Group& group_;
  const TeamSync& sync_;
  const Workers workers_;
  std::byte* const dest_;
  const std::byte* const source_;
  const std::size_t bytes_, chunk_, step_;
  const int root_;
};

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_RELAYS_HPP_
