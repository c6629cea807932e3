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

// Every so many waves of a block, which deal with lines of their own.
struct SomeWaves {
  bool has_caller;
  unsigned first, stride;  // lines

  MESHMEM_DEVICE_MEMBER SomeWaves(unsigned part, unsigned parts) {
    constexpr unsigned kLinesOfWave = 32 / kLanesOfLine;
    const unsigned wave = threadIdx.x / 32;
    has_caller = wave % parts == part;
    first = wave / parts * kLinesOfWave;
    stride = blockDim.x / 32 / parts * kLinesOfWave;
  }
};

template <bool even>
__global__ void __launch_bounds__(kThreads)
    broadcast_lines_kernel(const MESHMEM_GRID_CONSTANT TeamHandle handle,
                           const MESHMEM_GRID_CONSTANT SingleHop job,
                           const MESHMEM_GRID_CONSTANT Relay relay) {
  after_earlier_kernels();
  const unsigned channel = blockIdx.x;
  const int n = handle.team.n, me = handle.team.me, root = relay.root;
  const auto relays = static_cast<unsigned>(n - 1);
  const Slice slice = job.slice<std::byte>(channel);
  const LinesOfBytes<even> all(Block(), slice.count);
  const LanePosition& lane = all.lane;
  const auto line_in_wave = static_cast<unsigned>(lane.line_in_wave);
  std::uint64_t* const counter = job.counter(channel);
  std::byte* const dest = relay.dest + slice.first;
  const std::byte* const source = relay.source + slice.first;
  const auto after_root = [&](int pe) {  // the number of a relay
    return static_cast<unsigned>(pe > root ? pe - root - 1 : pe + n - root - 1);
  };
  const TeamSync sync(handle, static_cast<int>(channel));
  const int greeted = static_cast<int>(threadIdx.x) + 1;
  const unsigned batch = relay.lines_of_row * relays;

  std::uint64_t epoch = 0;
#pragma unroll 1
  for (std::size_t begin = 0; begin < all.lines; begin += batch) {
    const auto in_batch =
        static_cast<unsigned>(all.lines - begin < batch ? all.lines - begin : batch);
    epoch = next_single_hop_epoch(handle, counter);
    const std::size_t rows = channel * job.row_step + (epoch % 2 != 0 ? job.parity_step : 0);
    const auto at = [&](unsigned k) { return rows + lane.word_of(k) * sizeof(Bits128); };
    // Line k of a relay, if there is one.
    const auto line_of = [&](unsigned which, unsigned k) { return k * relays + which; };
    if (greeted < n) store_relaxed(sync.arrival(peer_in(handle.team, greeted), me), epoch);
    __syncthreads();
    if (threadIdx.x == 0) *counter = epoch;
    if (me == root) {
      const SomeWaves waves(0, 1);
      unsigned i = waves.first + line_in_wave;
      Bits128 words{};
      if (i < in_batch) words = all.load(source, begin + i);
      DealtLine to(i, relays);  // while the first one is loaded
#pragma unroll 1
      while (i < in_batch) {
        store_pair(reinterpret_cast<Bits128*>(job.to[to.relay] + at(to.line)),
                   with_flag(lane, words, epoch));
        if (dest != source) all.store(dest, begin + i, words);
        i += waves.stride;
        if (i < in_batch) words = all.load(source, begin + i);
        to.advance(relay.stride, relays);
      }
    } else {
      const unsigned mine = after_root(me);
      const DealtLine end(in_batch, relays);
      const auto lines_of = [&](unsigned which) { return end.line + (which < end.relay ? 1 : 0); };
      const SomeWaves handing_on(0, n > 2 ? 2 : 1), taking(1, 2);
      if (handing_on.has_caller) {
        const unsigned lines = lines_of(mine);
#pragma unroll 1
        for (unsigned first = handing_on.first; first < lines; first += handing_on.stride) {
          const unsigned k = first + line_in_wave;
          const bool is_there = k < lines;
          Bits128 words{};
          for (bool has_all = false; !has_all;) {
            if (is_there)
              words = load_pair(reinterpret_cast<const Bits128*>(job.from[root] + at(k)));
            const std::uint64_t flag = flag_of_line(words);
            has_all = all_of_wave(!is_there || flag == epoch);
          }
          if (!is_there) continue;
#pragma unroll
          for (int i = 1; i < kNearMembers; ++i) {
            if (i < n && peer_in(handle.team, i) != root)
              store_pair(reinterpret_cast<Bits128*>(job.to[i - 1] + at(k)),
                         with_flag(lane, words, epoch));
          }
          all.store(dest, begin + line_of(mine, k), words);
        }
      } else {
        const unsigned lines = lines_of(0);
#pragma unroll 1
        for (unsigned first = taking.first; first < lines; first += taking.stride) {
          const unsigned k = first + line_in_wave;
          const auto is_awaited = [&](int pe) {
            return pe < n && pe != me && pe != root && k < lines_of(after_root(pe));
          };
          Bits128 words[kNearMembers] = {};
          await_missing_lines(job, n, at(k), epoch, is_awaited, words);
#pragma unroll
          for (int pe = 0; pe < kNearMembers; ++pe)
            if (is_awaited(pe)) all.store(dest, begin + line_of(after_root(pe), k), words[pe]);
        }
      }
    }
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
