// SPDX-License-Identifier: Apache-2.0
//
// The same as single_unit.hpp by lines of 128 bytes (collectives/wide_lines.hpp): eight lanes have
// a line, and a lane has two units of it. Twice the data goes over a link in the same time.
// Invariant: as there. Also, the lanes of a wave that has a line stay together to the end, even
// those without one, since they hand a line's flag around among them.
#ifndef MESHMEM_DEVICE_KERNELS_SINGLE_WIDE_LINE_HPP_
#define MESHMEM_DEVICE_KERNELS_SINGLE_WIDE_LINE_HPP_

#include "device/collectives/wide_lines.hpp"
#include "device/kernels/single_unit.hpp"

#if defined(MESHMEM_TARGET_IS_CUDA)

namespace meshmem {
namespace device {

// Not for narrow integers: a wide line holds many of them, which takes too much code.
template <typename E>
constexpr bool kTypeHasWideLines = sizeof(E) >= 4 || !std::is_integral<E>::value;

// Whether such slices of a team's elements can go by wide lines in one hop. All PEs come to the
// same answer. lanes: the most lanes that the wide lines of a slice may take.
template <typename E>
bool fits_wide_lines(const TeamHandle& team, const Slices& slices, std::size_t lanes = SIZE_MAX) {
  const std::size_t units = units_of<E>(slices.longest<E>());
  const std::size_t lines = (units + kUnitsOfLine - 1) / kUnitsOfLine;
  return team.has_all_slabs() && lines * kLanesOfLine <= lanes &&
         lines * kWideLineBytes <= team.space.wide_row;
}
// The bytes before the second half of a row, where results come if there are two hops.
inline std::size_t results_in_row(const ChannelSpace& space) {
  return space.wide_row / 2 / kWideLineBytes * kWideLineBytes;
}
template <typename E>
bool fits_wide_lines_in_two_hops(const TeamHandle& team, const Slices& slices) {
  const Shares shares(0, units_of<E>(slices.longest<E>()), static_cast<std::size_t>(team.team.n));
  const std::size_t lines = (shares.longest + kUnitsOfLine - 1) / kUnitsOfLine;
  return team.has_all_slabs() && lines * kWideLineBytes <= results_in_row(team.space);
}

// Waits for a line of each awaited PE, and sets `words` to this lane's words of them.
template <typename IsAwaited>
MESHMEM_DEVICE void await_lines(const SingleHop& job, std::size_t at, std::uint64_t epoch,
                                const IsAwaited& is_awaited, Bits128 (&words)[kNearMembers]) {
  for (bool all = false; !all;) {
    job.look(words, at, is_awaited);
    bool mine = true;
#pragma unroll
    for (int pe = 0; pe < kNearMembers; ++pe) {
      const std::uint64_t flag = flag_of_line(words[pe]);
      mine = mine && (!is_awaited(pe) || flag == epoch);
    }
    all = all_of_wave(mine);
  }
}
// The same for n PEs, but loads only missing lines again: in one hop 0.3 us less, in two 0.4 us
// more (256 and 512 KiB by 4 H200).
template <typename IsAwaited>
MESHMEM_DEVICE void await_missing_lines(const SingleHop& job, int n, std::size_t at,
                                        std::uint64_t epoch, const IsAwaited& is_awaited,
                                        Bits128 (&words)[kNearMembers]) {
  bool is_missing[kNearMembers];
#pragma unroll
  for (int pe = 0; pe < kNearMembers; ++pe) is_missing[pe] = is_awaited(pe);
  for (bool all = false; !all;) {
    job.look(words, at, [&](int pe) { return is_missing[pe]; });
    bool mine = true;
#pragma unroll
    for (int pe = 0; pe < kNearMembers; ++pe) {
      if (pe >= n) continue;
      const bool has_come = flag_of_line(words[pe]) == epoch;
      is_missing[pe] = is_missing[pe] && !has_come;
      mine = mine && !is_missing[pe];
    }
    all = all_of_wave(mine);
  }
}

// The words of all PEs combined in PE order.
template <typename Op, typename E>
MESHMEM_DEVICE LaneUnits<E> combine_words(const Op& op, const Bits128 (&words)[kNearMembers],
                                          int n) {
  UnitTotal<E> total[2];
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    begin_total(total[k], bit_cast<EightBytes<E>>(words[0].word[k]));
#pragma unroll
    for (int pe = 1; pe < kNearMembers; ++pe)
      if (pe < n) combine_into(op, total[k], bit_cast<EightBytes<E>>(words[pe].word[k]));
  }
  return {{finished(op, total[0], n), finished(op, total[1], n)}};
}

MESHMEM_DEVICE Bits128 with_flag(const LanePosition& lane, Bits128 words, std::uint64_t epoch) {
  if (lane.has_flag()) words.word[1] = epoch;
  return words;
}

template <typename Op, typename E>
__global__ void __launch_bounds__(kThreads)
    reduce_single_wide_line_kernel(const MESHMEM_GRID_CONSTANT TeamHandle handle,
                                   const MESHMEM_GRID_CONSTANT SingleHop job, E* dest,
                                   const E* source, Op op) {
  const unsigned channel = blockIdx.x;
  const int n = handle.team.n, me = handle.team.me;
  const Slice slice = job.slice<E>(channel);
  const LanePosition lane{Block()};
  const std::size_t units = units_of<E>(slice.count), line = lane.first + lane.line_in_wave;
  const bool has_line = line * kUnitsOfLine < units;
  std::uint64_t* const counter = job.counter(channel);
  std::size_t at = channel * job.row_step + lane.word_of(line) * sizeof(Bits128);
  source += slice.first;
  dest += slice.first;

  after_earlier_kernels();
  const Bits128 own = load_lane(lane, source, slice.count, 0, units, line).words();
  const std::uint64_t epoch = next_single_hop_epoch(handle, counter);
  if (epoch % 2 != 0) at += job.parity_step;
  if (has_line) job.send(with_flag(lane, own, epoch), at, n);
  __syncthreads();
  if (threadIdx.x == 0) *counter = epoch;
  if (lane.first * kUnitsOfLine >= units) return;  // all lanes of the wave
  Bits128 words[kNearMembers] = {};
  await_missing_lines(
      job, n, at, epoch, [&](int pe) { return has_line && pe < n && pe != me; }, words);
  allow_next_kernel_if_it_pays();
#pragma unroll
  for (int pe = 0; pe < kNearMembers; ++pe)
    if (pe == me) words[pe] = own;
  if (has_line)
    store_lane(lane, dest, slice.count, 0, units, line, combine_words<Op, E>(op, words, n));
}

// In two hops: each PE gets its share of the slice, combines it, and sends the result to all. A
// lane has the same place in the lines of all shares. It has several lines if there are more lines
// than threads for them.
template <typename E>
class LinesOfTwoHops {
 public:
  MESHMEM_DEVICE_MEMBER LinesOfTwoHops(int n, int me, const SingleHop& job, const Slice& slice,
                                       E* dest, const E* source)
      : n_(n),
        me_(me),
        job_(job),
        count_(slice.count),
        lane_(Block()),
        shares_(0, units_of<E>(slice.count), static_cast<std::size_t>(n)),
        lines_((shares_.count_of(0) + kUnitsOfLine - 1) / kUnitsOfLine),
        source_(source + slice.first),
        dest_(dest + slice.first) {}

  // Sends each PE the lines of its share.
  MESHMEM_DEVICE_MEMBER void send_shares(std::size_t rows, std::uint64_t epoch) const {
    for_each_line(lane_, lines_, [&](std::size_t line, bool) {
      const auto peer = [&](int i) { return me_ + i < n_ ? me_ + i : me_ + i - n_; };
      Bits128 words[kNearMembers];
#pragma unroll
      for (int i = 1; i < kNearMembers; ++i)
        if (i < n_) words[i] = load(peer(i), line);
#pragma unroll
      for (int i = 1; i < kNearMembers; ++i) {
        if (i < n_ && has_line(peer(i), line))
          store_pair(reinterpret_cast<Bits128*>(job_.to[i - 1] + at(rows, line)),
                     with_flag(lane_, words[i], epoch));
      }
    });
  }

  // Combines all PEs' units of this PE's share, and sends the result to all PEs.
  template <typename Op>
  MESHMEM_DEVICE_MEMBER void send_results(const Op& op, std::size_t rows, std::size_t results,
                                          std::uint64_t epoch) const {
    for_each_line(lane_, lines_, [&](std::size_t line, bool) {
      const bool is_mine = has_line(me_, line);
      const Bits128 own = load(me_, line);
      Bits128 words[kNearMembers] = {};
      await_lines(
          job_, at(rows, line), epoch, [&](int pe) { return is_mine && pe < n_ && pe != me_; },
          words);
#pragma unroll
      for (int pe = 0; pe < kNearMembers; ++pe)
        if (pe == me_) words[pe] = own;
      if (!is_mine) return;
      const LaneUnits<E> total = combine_words<Op, E>(op, words, n_);
      job_.send(with_flag(lane_, total.words(), epoch), at(rows, line) + results, n_);
      store(me_, line, total);
    });
  }

  MESHMEM_DEVICE_MEMBER void take_results(std::size_t rows, std::size_t results,
                                          std::uint64_t epoch) const {
    for_each_line(lane_, lines_, [&](std::size_t line, bool) {
      const auto is_awaited = [&](int pe) { return pe != me_ && has_line(pe, line); };
      Bits128 words[kNearMembers] = {};
      await_lines(job_, at(rows, line) + results, epoch, is_awaited, words);
#pragma unroll
      for (int pe = 0; pe < kNearMembers; ++pe)
        if (is_awaited(pe)) store(pe, line, LaneUnits<E>::of(words[pe]));
    });
  }

 private:
  MESHMEM_DEVICE_MEMBER bool has_line(int pe, std::size_t line) const {
    return pe < n_ && line * kUnitsOfLine < shares_.count_of(pe);
  }
  MESHMEM_DEVICE_MEMBER Bits128 load(int pe, std::size_t line) const {
    return load_lane(lane_, source_, count_, shares_.begin_of(pe), shares_.count_of(pe), line)
        .words();
  }
  MESHMEM_DEVICE_MEMBER void store(int pe, std::size_t line, const LaneUnits<E>& units) const {
    store_lane(lane_, dest_, count_, shares_.begin_of(pe), shares_.count_of(pe), line, units);
  }
  MESHMEM_DEVICE_MEMBER std::size_t at(std::size_t rows, std::size_t line) const {
    return rows + lane_.word_of(line) * sizeof(Bits128);
  }

  const int n_, me_;
  const SingleHop& job_;
  const std::size_t count_;
  const LanePosition lane_;
  const Shares shares_;
  const std::size_t lines_;
  const E* const source_;
  E* const dest_;
};

template <typename Op, typename E>
__global__ void __launch_bounds__(kMostThreadsOfTwoShotWide)
    reduce_single_wide_line_two_hops_kernel(const MESHMEM_GRID_CONSTANT TeamHandle handle,
                                            const MESHMEM_GRID_CONSTANT SingleHop job,
                                            std::size_t results,  // bytes to them in a row
                                            E* dest, const E* source, Op op) {
  after_earlier_kernels();  // first: shares are divided by a branch
  const unsigned channel = blockIdx.x;
  const int n = handle.team.n, me = handle.team.me;
  std::uint64_t* const counter = job.counter(channel);
  std::size_t rows = channel * job.row_step;
  const LinesOfTwoHops<E> lines(n, me, job, job.slice<E>(channel), dest, source);

  const std::uint64_t epoch = next_single_hop_epoch(handle, counter);
  if (epoch % 2 != 0) rows += job.parity_step;
  lines.send_shares(rows, epoch);
  __syncthreads();
  if (threadIdx.x == 0) *counter = epoch;
  lines.send_results(op, rows, results, epoch);
  lines.take_results(rows, results, epoch);
}

// In one hop again. Here a lane may have units of several wide lines. scatters: as in
// single_unit.hpp; otherwise `spacing` is 0.
template <bool scatters, typename Op, typename E>
__global__ void __launch_bounds__(kMostThreadsOfTwoShotWide)
    reduce_wide_lines_kernel(const MESHMEM_GRID_CONSTANT TeamHandle handle,
                             const MESHMEM_GRID_CONSTANT SingleHop job, E* dest, const E* source,
                             std::size_t spacing, Op op) {
  after_earlier_kernels();
  const unsigned channel = blockIdx.x;
  const int n = handle.team.n, me = handle.team.me;
  const Slice slice = job.slice<E>(channel);
  const LanePosition lane{Block()};
  const std::size_t units = units_of<E>(slice.count);
  const std::size_t lines = (units + kUnitsOfLine - 1) / kUnitsOfLine;
  std::uint64_t* const counter = job.counter(channel);
  std::size_t rows = channel * job.row_step;
  source += slice.first;
  dest += slice.first;
  const auto load = [&](int pe, std::size_t line) {
    return load_lane(lane, source + static_cast<std::size_t>(pe) * spacing, slice.count, 0, units,
                     line)
        .words();
  };
  const auto at = [&](std::size_t line) { return rows + lane.word_of(line) * sizeof(Bits128); };

  const std::uint64_t epoch = next_single_hop_epoch(handle, counter);
  if (epoch % 2 != 0) rows += job.parity_step;
  for_each_line(lane, lines, [&](std::size_t line, bool is_there) {
    if (!is_there) return;
    if constexpr (!scatters) {
      job.send(with_flag(lane, load(me, line), epoch), at(line), n);
    } else {
      Bits128 words[kNearMembers];
#pragma unroll
      for (int i = 1; i < kNearMembers; ++i)
        if (i < n) words[i] = load(peer_in(handle.team, i), line);
#pragma unroll
      for (int i = 1; i < kNearMembers; ++i) {
        if (i < n)
          store_pair(reinterpret_cast<Bits128*>(job.to[i - 1] + at(line)),
                     with_flag(lane, words[i], epoch));
      }
    }
  });
  __syncthreads();
  if (threadIdx.x == 0) *counter = epoch;
  for_each_line(lane, lines, [&](std::size_t line, bool is_there) {
    const Bits128 own = load(me, line);
    Bits128 words[kNearMembers] = {};
    await_missing_lines(
        job, n, at(line), epoch, [&](int pe) { return is_there && pe < n && pe != me; }, words);
    if (line - lane.line_in_wave + lane.stride >= lines) allow_next_kernel_if_it_pays();
#pragma unroll
    for (int pe = 0; pe < kNearMembers; ++pe)
      if (pe == me) words[pe] = own;
    if (is_there)
      store_lane(lane, dest, slice.count, 0, units, line, combine_words<Op, E>(op, words, n));
  });
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_TARGET_IS_CUDA

#endif  // MESHMEM_DEVICE_KERNELS_SINGLE_WIDE_LINE_HPP_
