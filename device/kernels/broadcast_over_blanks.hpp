// SPDX-License-Identifier: Apache-2.0
//
// Broadcasts of large data by relays, straight into dest, with no flag and no fence behind the
// data: a PE fills its dest with blanks beforehand, and what is no blank any more has come. Called
// by broadcasts.cpp.
// Invariant: nobody stores into a dest before its PE has told that it is blank there; whoever has
// its data knows that all have entered.
#ifndef MESHMEM_DEVICE_KERNELS_BROADCAST_OVER_BLANKS_HPP_
#define MESHMEM_DEVICE_KERNELS_BROADCAST_OVER_BLANKS_HPP_

#include <random>

#include "device/collectives/relays.hpp"
#include "device/collectives/slices.hpp"
#include "device/kernels/single_unit.hpp"

// A flag behind data has a fence before it, which lasts until stores that wait for full links have
// arrived. A relay that learns so what has come is late by 16 us (docs/measurements/four_h100.md),
// and so is the end. Flags between the data, as in lines of 128 bytes, make it 1/15 longer.
// Blanks take stores to the PE's own memory, which is fast beside a link.

#if defined(MESHMEM_TARGET_IS_CUDA)

namespace meshmem {
namespace device {

// 16 bytes that no data has: their PE chooses them at random and tells nobody. 16 bytes of data
// equal them with a probability of 2^-128; that broadcast would never end. We rely on a store of 16
// bytes to arrive as a whole, as lines do for 128 (collectives/wide_lines.hpp).
struct Blank {
  std::uint64_t word[2];

  static Blank of_this_process() {
    static const Blank blank = [] {
      std::random_device random;
      const auto word_of = [&] { return std::uint64_t{random()} << 32 | random(); };
      return Blank{{word_of(), word_of()}};
    }();
    return blank;
  }

  // Another one for each epoch.
  MESHMEM_DEVICE_MEMBER Bits128 of(std::uint64_t epoch) const {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
    return {{word[0] ^ epoch * kOdd, word[1] + epoch * kOdd}};
  }
};

constexpr std::size_t kBytesOfLine = 128;  // of memory; no wave's store begins within one

struct BroadcastOverBlanks {
  std::byte* dest;
  const std::byte* source;
  std::size_t bytes;
  int root;
  Blank blank;

  // Whole lines of memory, but for the end of the last.
  MESHMEM_DEVICE_MEMBER Slice slice(unsigned channel, unsigned channels) const {
    struct Line {
      std::byte byte[kBytesOfLine];
    };
    const Slice lines = slice_of<Line>((bytes + kBytesOfLine - 1) / kBytesOfLine,
                                       static_cast<int>(channel), static_cast<int>(channels));
    const std::size_t first = lines.first * kBytesOfLine, count = lines.count * kBytesOfLine;
    return {first, first + count < bytes ? count : bytes - first};
  }
};

// A block's slice. In a step the root sends each relay a chunk, a piece of 16 bytes for each
// worker, and a relay hands its own on. In the last step some may have no piece.
template <bool even>
class SliceOverBlanks {
 public:
  MESHMEM_DEVICE_MEMBER SliceOverBlanks(const TeamSync& sync, const BroadcastOverBlanks& call,
                                        std::uint64_t epoch)
      : sync_(sync),
        blank_(call.blank.of(epoch)),
        epoch_(epoch),
        root_(call.root),
        relays_(sync.team.n - 1),
        mine_(relay_of(sync.team, root_, sync.team.me)) {
    const Slice slice = call.slice(blockIdx.x, gridDim.x);
    dest_ = call.dest + slice.first;
    source_ = call.source + slice.first;
    bytes_ = slice.count;
    constexpr unsigned kLine = kBytesOfLine / kPiece;
    const auto pieces = static_cast<unsigned>(bytes_ / kPiece), n = static_cast<unsigned>(relays_);
    const unsigned steps = (pieces + n * kWorkers - 1) / (n * kWorkers);
    const unsigned of_chunk = (pieces + n * steps - 1) / (n * steps);
    chunk_ = static_cast<std::size_t>((of_chunk + kLine - 1) / kLine * kLine) * kPiece;
    step_ = chunk_ * n;
  }

  MESHMEM_DEVICE_MEMBER void move() {
    const bool is_worker = threadIdx.x < kWorkers;
    if (sync_.team.me == root_) {
      if (is_worker) deal_out();
      return;
    }
    blank(0, end_of(1), threadIdx.x, kThreads);
    __syncthreads();
    is_worker ? hand_on() : blank_out();
  }

 private:
  static constexpr unsigned kWorkers = kThreads - 32;  // the last wave writes the blanks
  static constexpr std::size_t kPiece = sizeof(Bits128);
  static constexpr int kMostRelays = kNearMembers - 1;
  static constexpr std::size_t kBehind = 1;  // steps, until a relay looks what others sent it
  static constexpr int kMostBatch = 4;       // steps that are told together
  static constexpr int kBlankAtOnce = 7;     // steps, before any data comes

  // By the workers of the root.
  MESHMEM_DEVICE_MEMBER void deal_out() {
    std::byte* there[kMostRelays];
#pragma unroll
    for (int relay = 0; relay < kMostRelays; ++relay)
      there[relay] = dest_of_relay(relay < relays_ ? relay : 0);
    int step = 0;
#pragma unroll 1
    for (std::size_t begin = 0; begin < bytes_; begin += step_) {
      await_blank(++step);
      Bits128 pieces[kMostRelays] = {};
#pragma unroll
      for (int relay = 0; relay < kMostRelays; ++relay)
        if (has_piece(begin, relay)) pieces[relay] = load(place(begin, relay));
#pragma unroll
      for (int relay = 0; relay < kMostRelays; ++relay) {
        if (!has_piece(begin, relay)) continue;
        const std::size_t at = place(begin, relay);
        store_pair(reinterpret_cast<Bits128*>(there[relay] + at), pieces[relay]);
        if (dest_ != source_) store_plain(reinterpret_cast<Bits128*>(dest_ + at), pieces[relay]);
      }
    }
  }
  // By the workers of a relay.
  MESHMEM_DEVICE_MEMBER void hand_on() {
    std::byte* there[kMostRelays - 1];  // the other relays, after this one
#pragma unroll
    for (int i = 1; i < kMostRelays; ++i) {
      const int relay = mine_ + i < relays_ ? mine_ + i : mine_ + i - relays_;
      there[i - 1] = dest_of_relay(i < relays_ ? relay : mine_);
    }
    const std::size_t behind = kBehind * step_;
    int step = 0;
#pragma unroll 1
    for (std::size_t begin = 0; begin < bytes_ + behind; begin += step_) {
      if (begin < bytes_) {
        await_blank(++step);
        const Bits128 piece = await_own(begin);
        if (has_piece(begin, mine_)) {
#pragma unroll
          for (int i = 1; i < kMostRelays; ++i)
            if (i < relays_)
              store_pair(reinterpret_cast<Bits128*>(there[i - 1] + place(begin, mine_)), piece);
        }
      }
      if (begin >= behind) await_others(begin - behind);
    }
  }
  // By a relay's last wave, when the first step is blank. It tells how far it is, and is a batch of
  // steps ahead of the data, which so finds the blanks in the second-level cache.
  MESHMEM_DEVICE_MEMBER void blank_out() const {
    std::size_t begin = end_of(1), before = 0;
    tell(1);
#pragma unroll 1
    for (int steps = blank_after(1); begin < bytes_; steps = blank_after(steps)) {
      if (steps > kBlankAtOnce) await_own_of_wave(before);
      const std::size_t end = end_of(steps);
      blank(begin, end, threadIdx.x % 32, 32);
      __syncwarp();
      tell(steps);
      before = begin;
      begin = end;
    }
  }
  MESHMEM_DEVICE_MEMBER std::size_t end_of(int steps) const {
    const std::size_t end = static_cast<std::size_t>(steps) * step_;
    return end < bytes_ ? end : bytes_;
  }
  // Writes the calling thread's share of the blanks, of which so many threads have one.
  MESHMEM_DEVICE_MEMBER void blank(std::size_t begin, std::size_t end, unsigned thread,
                                   unsigned threads) const {
#pragma unroll 4
    for (std::size_t at = begin + thread * kPiece; at < end; at += threads * kPiece)
      store_plain(reinterpret_cast<Bits128*>(dest_ + at), blank_);
  }
  // By a wave, to all PEs.
  MESHMEM_DEVICE_MEMBER void tell(int steps) const {
    const auto pe = static_cast<int>(threadIdx.x % 32);
    if (pe >= sync_.team.n) return;
    release_mine();
    store_relaxed(sync_.progress(sync_.peer(pe), sync_.team.me), progress_of(epoch_, steps));
  }

  // Batches of 1, 2, 4, 4, ... steps: the first is told soon, and few are told.
  MESHMEM_DEVICE_MEMBER static int blank_after(int steps) {
    return steps < kMostBatch ? 2 * steps + 1 : steps + kMostBatch;
  }
  // By a wave: so many steps are blank at all relays, this one too.
  MESHMEM_DEVICE_MEMBER void await_blank(int steps) {
    if (steps <= told_) return;
    told_ = told_ == 0 ? 1 : blank_after(told_);
    while (!all_of_wave(is_blank_there(told_))) {
    }
    acquire_mine();
    __syncwarp();
  }
  // Whether the PE of this lane's number has told so, if it is a relay.
  MESHMEM_DEVICE_MEMBER bool is_blank_there(int steps) const {
    const int pe = static_cast<int>(threadIdx.x % 32);
    const bool is_relay = pe < sync_.team.n && pe != root_;
    const std::uint64_t* told = sync_.progress(sync_.team.me, is_relay ? pe : sync_.team.me);
    return !is_relay || has_reached(load_relaxed(told), progress_of(epoch_, steps));
  }

  MESHMEM_DEVICE_MEMBER std::byte* dest_of_relay(int relay) const {
    return translate(dest_, world_pe_of(sync_.team, pe_of_relay(sync_.team, root_, relay)));
  }
  // Of the calling worker, in the step that begins there.
  MESHMEM_DEVICE_MEMBER std::size_t place(std::size_t begin, int relay) const {
    return begin + static_cast<std::size_t>(relay) * chunk_ + threadIdx.x * kPiece;
  }
  MESHMEM_DEVICE_MEMBER bool has_piece(std::size_t begin, int relay) const {
    return relay < relays_ && threadIdx.x * kPiece < chunk_ && place(begin, relay) < bytes_;
  }
  MESHMEM_DEVICE_MEMBER Bits128 load(std::size_t at) const {
    if (even) return load_plain(reinterpret_cast<const Bits128*>(source_ + at));
    Bits128 piece;
    auto* const bytes = reinterpret_cast<std::byte*>(&piece);
#pragma unroll
    for (std::size_t i = 0; i < kPiece; ++i) bytes[i] = source_[at + i];
    return piece;
  }
  MESHMEM_DEVICE_MEMBER Bits128 load_here(std::size_t at) const {
    return load_pair(reinterpret_cast<const Bits128*>(dest_ + at));
  }
  MESHMEM_DEVICE_MEMBER bool has_come(const Bits128& piece) const {
    return piece.word[0] != blank_.word[0] || piece.word[1] != blank_.word[1];
  }
  // These return when all of the calling wave have what they wait for.
  MESHMEM_DEVICE_MEMBER Bits128 await_own(std::size_t begin) const {
    Bits128 piece{};
    const bool is_there = has_piece(begin, mine_);
    for (bool has_all = false; !has_all;) {
      if (is_there) piece = load_here(place(begin, mine_));
      has_all = all_of_wave(!is_there || has_come(piece));
    }
    return piece;
  }
  MESHMEM_DEVICE_MEMBER void await_others(std::size_t begin) const {
    for (bool has_all = false; !has_all;) {
      bool there = true;
#pragma unroll
      for (int relay = 0; relay < kMostRelays; ++relay)
        if (relay != mine_ && has_piece(begin, relay))
          there = has_come(load_here(place(begin, relay))) && there;
      has_all = all_of_wave(there);
    }
  }
  // What this relay's first workers await there.
  MESHMEM_DEVICE_MEMBER void await_own_of_wave(std::size_t begin) const {
    const std::size_t at =
        begin + static_cast<std::size_t>(mine_) * chunk_ + threadIdx.x % 32 * kPiece;
    while (!all_of_wave(at >= bytes_ || has_come(load_here(at)))) {
    }
  }

  const TeamSync& sync_;
  std::byte* dest_;
  const std::byte* source_;
  std::size_t bytes_;
  const Bits128 blank_;
  const std::uint64_t epoch_;
  const int root_, relays_, mine_;
  std::size_t chunk_, step_;
  int told_ = 0;  // steps that all relays have told to be blank
};

template <bool even>
__global__ void __launch_bounds__(kThreads, 2)
    broadcast_over_blanks_kernel(const MESHMEM_GRID_CONSTANT TeamHandle handle,
                                 const MESHMEM_GRID_CONSTANT BroadcastOverBlanks call) {
  after_earlier_kernels();
  const TeamSync sync(handle, static_cast<int>(blockIdx.x));
  const std::uint64_t epoch = next_single_hop_epoch(handle, &sync.epoch());
  __syncthreads();
  if (threadIdx.x == 0) sync.epoch() = epoch;
  SliceOverBlanks<even>(sync, call, epoch).move();
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_TARGET_IS_CUDA

#endif  // MESHMEM_DEVICE_KERNELS_BROADCAST_OVER_BLANKS_HPP_
