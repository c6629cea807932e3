// SPDX-License-Identifier: Apache-2.0
//
// Large broadcasts by lines of 128 bytes in two hops, as the whole of a kernel. Called by
// broadcasts.cpp.
// Invariant: as in single_exchange.hpp.
#ifndef MESHMEM_DEVICE_KERNELS_BROADCAST_LINES_HPP_
#define MESHMEM_DEVICE_KERNELS_BROADCAST_LINES_HPP_

#include "device/kernels/single_exchange.hpp"

#if defined(MESHMEM_TARGET_IS_CUDA)

namespace meshmem {
namespace device {

// Where line i of a batch goes: to relay i % relays, as line i / relays of its row. To divide for
// each line took up to 12 % of a broadcast (docs/measurements/four_h100.md).
struct DealtLine {
  unsigned relay, line;

  MESHMEM_HOST_DEVICE_MEMBER DealtLine(unsigned i, unsigned relays)
      : relay(i % relays), line(i / relays) {}
  MESHMEM_DEVICE_MEMBER void advance(const DealtLine& by, unsigned relays) {
    relay += by.relay;
    line += by.line;
    if (relay < relays) return;
    relay -= relays;
    ++line;
  }
};

// A broadcast by relays: the root deals its lines out among the others, each of which hands its own
// on to the rest. So no PE sends more than the data once. The lines are done in batches, each of
// which is an operation: all tell each other that they have entered it, and look at the end whether
// the others have.
struct Relay {
  std::byte* dest;
  const std::byte* source;
  int root;
  unsigned lines_of_row;  // a relay's of a batch
  DealtLine stride;       // from a wave's line to its next one
};

// Some waves of a block, every parts-th one, with lines of their own.
struct SomeWaves {
  bool includes_this_thread;
  unsigned first, stride;  // lines

  MESHMEM_DEVICE_MEMBER SomeWaves(unsigned part, unsigned parts) {
    constexpr unsigned kLinesOfWave = 32 / kLanesOfLine;
    const unsigned wave = threadIdx.x / 32;
    includes_this_thread = wave % parts == part;
    first = wave / parts * kLinesOfWave;
    stride = blockDim.x / 32 / parts * kLinesOfWave;
  }
};

// A batch as all PEs see it.
struct LineBatch {
  std::size_t begin;  // its first line among the slice's
  unsigned lines;
  std::size_t rows;  // where its rows are in the memory of each PE
  std::uint64_t epoch;
};

// The calling thread's work in a broadcast of a slice.
template <bool even>
class BroadcastOfLines {
 public:
  MESHMEM_DEVICE_MEMBER BroadcastOfLines(const TeamView& team, const SingleHop& job,
                                         const Relay& relay, const Slice& slice)
      : team_(team),
        n_(team.n),
        me_(team.me),
        root_(relay.root),
        job_(job),
        relay_(relay),
        all_(Block(), slice.count),
        line_in_wave_(static_cast<unsigned>(all_.lane.line_in_wave)),
        relays_(static_cast<unsigned>(team.n - 1)),
        dest_(relay.dest + slice.first),
        source_(relay.source + slice.first) {}

  MESHMEM_DEVICE_MEMBER std::size_t lines() const { return all_.lines; }
  MESHMEM_DEVICE_MEMBER unsigned most_in_batch() const { return relay_.lines_of_row * relays_; }

  MESHMEM_DEVICE_MEMBER void run(const LineBatch& batch) const {
    if (me_ == root_) return deal_out(batch);
    const DealtLine end(batch.lines, relays_);
    const SomeWaves handing_on(0, n_ > 2 ? 2 : 1), taking(1, 2);
    if (handing_on.includes_this_thread)
      hand_on(batch, end, handing_on);
    else
      take(batch, end, taking);
  }

 private:
  // The root gives each relay its lines, and the next one is loaded before it is needed.
  MESHMEM_DEVICE_MEMBER void deal_out(const LineBatch& batch) const {
    const SomeWaves waves(0, 1);
    unsigned i = waves.first + line_in_wave_;
    Bits128 words{};
    if (i < batch.lines) words = all_.load(source_, batch.begin + i);
    DealtLine to(i, relays_);  // while the first one is loaded
#pragma unroll 1
    while (i < batch.lines) {
      store_pair(place(job_.to[to.relay], batch, to.line),
                 with_flag(all_.lane, words, batch.epoch));
      if (dest_ != source_) all_.store(dest_, batch.begin + i, words);
      i += waves.stride;
      if (i < batch.lines) words = all_.load(source_, batch.begin + i);
      to.advance(relay_.stride, relays_);
    }
  }

  // A relay sends the lines that the root has dealt it on to the other relays.
  MESHMEM_DEVICE_MEMBER void hand_on(const LineBatch& batch, const DealtLine& end,
                                     const SomeWaves& waves) const {
    const unsigned mine = after_root(me_), lines = lines_of(mine, end);
#pragma unroll 1
    for (unsigned first = waves.first; first < lines; first += waves.stride) {
      const unsigned k = first + line_in_wave_;
      const bool is_there = k < lines;
      const Bits128 words = await_root(batch, k, is_there);
      if (!is_there) continue;
      send_to_relays(batch, k, words);
      all_.store(dest_, batch.begin + line_of(mine, k), words);
    }
  }

  // Line k of this relay, from the root. All lanes of a wave call it together.
  MESHMEM_DEVICE_MEMBER Bits128 await_root(const LineBatch& batch, unsigned k,
                                           bool is_there) const {
    Bits128 words{};
    for (bool has_all = false; !has_all;) {
      if (is_there) words = load_pair(place(job_.from[root_], batch, k));
      const std::uint64_t flag = flag_of_line(words);
      has_all = all_of_wave(!is_there || flag == batch.epoch);
    }
    return words;
  }

  MESHMEM_DEVICE_MEMBER void send_to_relays(const LineBatch& batch, unsigned k,
                                            const Bits128& words) const {
#pragma unroll
    for (int i = 1; i < kNearMembers; ++i) {
      if (i < n_ && peer_in(team_, i) != root_)
        store_pair(place(job_.to[i - 1], batch, k), with_flag(all_.lane, words, batch.epoch));
    }
  }

  // A relay takes the lines of all other relays.
  MESHMEM_DEVICE_MEMBER void take(const LineBatch& batch, const DealtLine& end,
                                  const SomeWaves& waves) const {
    const unsigned lines = lines_of(0, end);
#pragma unroll 1
    for (unsigned first = waves.first; first < lines; first += waves.stride) {
      const unsigned k = first + line_in_wave_;
      const auto is_awaited = [&](int pe) {
        return pe < n_ && pe != me_ && pe != root_ && k < lines_of(after_root(pe), end);
      };
      Bits128 words[kNearMembers] = {};
      await_missing_lines(job_, n_, offset(batch, k), batch.epoch, is_awaited, words);
#pragma unroll
      for (int pe = 0; pe < kNearMembers; ++pe)
        if (is_awaited(pe)) all_.store(dest_, batch.begin + line_of(after_root(pe), k), words[pe]);
    }
  }

  // The number of a relay.
  MESHMEM_DEVICE_MEMBER unsigned after_root(int pe) const {
    return static_cast<unsigned>(pe > root_ ? pe - root_ - 1 : pe + n_ - root_ - 1);
  }
  // How many lines of a batch a relay has; `end` is where the line after the last one would go.
  MESHMEM_DEVICE_MEMBER static unsigned lines_of(unsigned which, const DealtLine& end) {
    return end.line + (which < end.relay ? 1 : 0);
  }
  // Line k of a relay, among those of the batch.
  MESHMEM_DEVICE_MEMBER unsigned line_of(unsigned which, unsigned k) const {
    return k * relays_ + which;
  }
  // Where the calling lane's words of line k of a row are.
  MESHMEM_DEVICE_MEMBER std::size_t offset(const LineBatch& batch, unsigned k) const {
    return batch.rows + all_.lane.word_of(k) * sizeof(Bits128);
  }
  MESHMEM_DEVICE_MEMBER Bits128* place(std::byte* row, const LineBatch& batch, unsigned k) const {
    return reinterpret_cast<Bits128*>(row + offset(batch, k));
  }

  const TeamView& team_;
  const int n_, me_, root_;
  const SingleHop& job_;
  const Relay& relay_;
  const LinesOfBytes<even> all_;
  const unsigned line_in_wave_, relays_;
  std::byte* const dest_;
  const std::byte* const source_;
};

template <bool even>
__global__ void __launch_bounds__(kThreads)
    broadcast_lines_kernel(const MESHMEM_GRID_CONSTANT TeamHandle handle,
                           const MESHMEM_GRID_CONSTANT SingleHop job,
                           const MESHMEM_GRID_CONSTANT Relay relay) {
  after_earlier_kernels();
  const unsigned channel = blockIdx.x;
  const int n = handle.team.n, me = handle.team.me;
  const BroadcastOfLines<even> slice(handle.team, job, relay, job.slice<std::byte>(channel));
  std::uint64_t* const counter = job.counter(channel);
  const TeamSync sync(handle, static_cast<int>(channel));
  const int greeted = static_cast<int>(threadIdx.x) + 1;
  const unsigned most = slice.most_in_batch();

#pragma unroll 1
  for (std::size_t begin = 0; begin < slice.lines(); begin += most) {
    const std::size_t left = slice.lines() - begin;
    const auto in_batch = static_cast<unsigned>(left < most ? left : most);
    const std::uint64_t epoch = next_single_hop_epoch(handle, counter);
    const std::size_t rows = channel * job.row_step + (epoch % 2 != 0 ? job.parity_step : 0);
    if (greeted < n) store_relaxed(sync.arrival(peer_in(handle.team, greeted), me), epoch);
    __syncthreads();
    if (threadIdx.x == 0) *counter = epoch;
    slice.run({begin, in_batch, rows, epoch});
    if (greeted < n) {
      const std::uint64_t* entered = sync.arrival(me, peer_in(handle.team, greeted));
      while (!has_reached(load_relaxed(entered), epoch)) pause();
    }
    __syncthreads();
  }
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_TARGET_IS_CUDA

#endif  // MESHMEM_DEVICE_KERNELS_BROADCAST_LINES_HPP_
