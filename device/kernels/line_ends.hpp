// SPDX-License-Identifier: Apache-2.0
//
// fcollect and alltoall of large blocks as the whole of a kernel. A block of threads pushes its
// data, except the first and the last bytes, which go by wide lines. Called by moves.cpp.
// Invariant: as in single_wide_line.hpp. The first lines have the epoch of one operation and the
// last lines that of the next, so each kind has rows of its own. A PE reads the others' first lines
// before it sends its last ones. So the lines of a PE that has finished have been read.
#ifndef MESHMEM_DEVICE_KERNELS_LINE_ENDS_HPP_
#define MESHMEM_DEVICE_KERNELS_LINE_ENDS_HPP_

#include <algorithm>

#include "device/collectives/moves.hpp"
#include "device/collectives/progress.hpp"
#include "device/kernels/single_exchange.hpp"

// A PE that pushes has to know that all others have entered, and has to tell them when all data is
// there. The links would rest meanwhile, 1 us each time. Lines use that time: they go to places of
// their own, and bring their flags with them. (4 MiB by 2 H200: 15.4 us instead of 16.7.)

#if defined(MESHMEM_TARGET_IS_CUDA)

namespace meshmem {
namespace device {

// How many lines begin and end the data that a block of threads sends to each PE. A lane has one at
// most, and there are as many as take the time of a meeting. More would be slower than pushing.
struct LineEnds {
  unsigned first, last;

  static LineEnds of(int n) {
    constexpr LineEnds kOfTwo{32, 60}, kOfMore{16, 16};
    // The last ones are sent while one wave tells the others that the data has been pushed.
    static_assert(kOfTwo.first * kLanesOfLine <= kThreads &&
                  kOfTwo.last * kLanesOfLine <= kThreads - 32);
    return n == 2 ? kOfTwo : kOfMore;
  }
  MESHMEM_HOST_DEVICE_MEMBER static std::size_t bytes_of(unsigned lines) {
    return lines * kUnitsOfLine * kLineData;
  }
  // The bytes that a row must hold: the two kinds lie in rows of different parity.
  std::size_t of_row() const { return std::max(first, last) * kWideLineBytes; }
};

// The most PEs that gain by line ends. An alltoall by more PEs gains nothing. Rows of more PEs take
// more registers, and a thread has 64 if two blocks share a multiprocessor, as blocks of two
// streams may have to.
template <bool each_its_own>
constexpr int kMostWithLineEnds = each_its_own ? 2 : 4;

// `bytes` bytes from `begin` on of an exchange's blocks, as lines to and from all others. A lane of
// a group's whole waves has one at most. A lane can load its data before the others may get it.
template <bool each_its_own, bool even>
class LinesOfExchange {
 public:
  template <typename Group>
  MESHMEM_DEVICE_MEMBER LinesOfExchange(const Group& group, const TeamView& team,
                                        const SingleHop& job, const Exchange& exchange,
                                        std::size_t begin, std::size_t bytes)
      : team_(team),
        job_(job),
        exchange_(exchange),
        all_(group, bytes),
        begin_(begin),
        line_(all_.lane.first + all_.lane.line_in_wave) {}

  MESHMEM_DEVICE_MEMBER void load() {
    if (!is_there()) return;
#pragma unroll
    for (int i = 0; i < kWords; ++i)
      if (i < team_.n) words_[i] = all_.load(block_for(peer_in(team_, i)), line_);
  }
  MESHMEM_DEVICE_MEMBER void send(std::size_t rows, std::uint64_t epoch) const {
    if (!is_there()) return;
    const std::size_t at = place(rows, epoch);
#pragma unroll
    for (int i = 1; i < kMostPes; ++i) {
      if (i < team_.n)
        store_pair(reinterpret_cast<Bits128*>(job_.to[i - 1] + at),
                   with_flag(all_.lane, words_[each_its_own ? i : 0], epoch));
    }
    all_.store(block_from(team_.me), line_, words_[0]);
  }
  MESHMEM_DEVICE_MEMBER void receive(std::size_t rows, std::uint64_t epoch) const {
    if (all_.lane.first >= all_.lines) return;  // the whole wave
    const auto is_awaited = [&](int pe) {
      return pe < kMostPes && is_there() && pe < team_.n && pe != team_.me;
    };
    Bits128 words[kNearMembers] = {};
    await_missing_lines(job_, team_.n, place(rows, epoch), epoch, is_awaited, words);
#pragma unroll
    for (int pe = 0; pe < kNearMembers; ++pe)
      if (is_awaited(pe)) all_.store(block_from(pe), line_, words[pe]);
  }

 private:
  static constexpr int kMostPes = kMostWithLineEnds<each_its_own>;
  static constexpr int kWords = each_its_own ? kMostPes : 1;

  MESHMEM_DEVICE_MEMBER bool is_there() const { return line_ < all_.lines; }
  MESHMEM_DEVICE_MEMBER std::size_t place(std::size_t rows, std::uint64_t epoch) const {
    return rows + (epoch % 2 != 0 ? job_.parity_step : 0) +
           all_.lane.word_of(line_) * sizeof(Bits128);
  }
  MESHMEM_DEVICE_MEMBER const std::byte* block_for(int pe) const {
    return exchange_.source + static_cast<std::size_t>(pe) * exchange_.source_spacing + begin_;
  }
  MESHMEM_DEVICE_MEMBER std::byte* block_from(int pe) const {
    return exchange_.dest + static_cast<std::size_t>(pe) * exchange_.dest_spacing + begin_;
  }

  const TeamView& team_;
  const SingleHop& job_;
  const Exchange& exchange_;
  const LinesOfBytes<even> all_;
  const std::size_t begin_, line_;
  Bits128 words_[kWords] = {};
};

template <bool each_its_own, bool even>
__global__ void __launch_bounds__(kThreads, 2)
    push_with_line_ends_kernel(const MESHMEM_GRID_CONSTANT TeamHandle handle,
                               const MESHMEM_GRID_CONSTANT SingleHop job,
                               const MESHMEM_GRID_CONSTANT Exchange exchange,
                               const MESHMEM_GRID_CONSTANT LineEnds ends) {
  using Lines = LinesOfExchange<each_its_own, even>;
  const Block block;
  const Workers workers(block);
  const unsigned channel = blockIdx.x;
  const int n = handle.team.n, me = handle.team.me;
  const TeamSync sync(handle, static_cast<int>(channel));
  const Slice slice = job.slice<std::byte>(channel);
  const std::size_t rows = channel * job.row_step;
  std::uint64_t* const counter = job.counter(channel);
  const std::size_t of_first = LineEnds::bytes_of(ends.first);
  const std::size_t of_last = LineEnds::bytes_of(ends.last);
  const std::size_t pushed = slice.count - of_first - of_last;
  const std::size_t begin = slice.first + of_first;
  std::byte* const to =
      exchange.dest + static_cast<std::size_t>(me) * exchange.dest_spacing + begin;
  const std::byte* const from = exchange.source + begin;
  const int i = workers.announcer + 1;  // the PE after this one that an announcer tells
  const bool tells = workers.announcer < workers.announcers && i < n;
  const auto tell = [&](std::uint64_t epoch) {
    if (tells) store_relaxed(sync.arrival(peer_in(handle.team, i), me), epoch);
  };
  const auto await = [&](std::uint64_t epoch) {
    const std::uint64_t* told = sync.arrival(me, peer_in(handle.team, i < n ? i : 0));
    if (!tells) return;
    while (!has_reached(load_relaxed(told), epoch)) pause();
    acquire_mine();
  };
  Lines first(block, handle.team, job, exchange, slice.first, of_first);

  after_earlier_kernels();
  first.load();
  const std::uint64_t epoch = next_single_hop_epoch(handle, counter);
  tell(epoch);
  first.send(rows, epoch);
  await(epoch);
  __syncthreads();
  if (threadIdx.x == 0) *counter = epoch;
  push_in_turn(block, sync, to, from, exchange.source_spacing, pushed, channel % 2 != 0);
  Lines last(workers, handle.team, job, exchange, begin + pushed, of_last);
  if (workers.includes_this_thread()) last.load();
  first.receive(rows, epoch);
  __syncthreads();
  std::uint64_t last_epoch = epoch + 1;
  if (needs_wiping(last_epoch)) last_epoch = next_single_hop_epoch_after_wiping(handle, last_epoch);
  if (workers.includes_this_thread()) {
    last.send(rows, last_epoch);
    last.receive(rows, last_epoch);
  } else {
    if (tells) release_mine();
    tell(last_epoch);
    await(last_epoch);
  }
  __syncthreads();
  if (threadIdx.x == 0) *counter = last_epoch;
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_TARGET_IS_CUDA

#endif  // MESHMEM_DEVICE_KERNELS_LINE_ENDS_HPP_
