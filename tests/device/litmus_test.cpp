// SPDX-License-Identifier: Apache-2.0
//
// Order in kernels, in many rounds of a few words: message passing by fences and by signals,
// between PEs and between blocks; store buffering; barriers in quick succession.
// Invariant: readers count values that they must not see. A round begins when the last one is over,
// by what the test is about, so that the next round's mistakes meet this one's data.
#include "forms.hpp"

namespace meshmem {
namespace {

constexpr int kManyRounds = 10000;
constexpr size_t kWords = 50;         // four cache lines, the last in part
constexpr size_t kManyWords = 700;    // what a whole block moves
constexpr size_t kSomeForEach = 150;  // threads of a block

__device__ void count_error(uint64_t* errors) { shmem_uint64_atomic_inc(errors, shmem_my_pe()); }
__device__ uint64_t word_of(uint64_t round, size_t i) { return round * kManyWords + i; }

// All PEs tell all others: words, one fence, flags. Each writer has two rows in turn, so nobody
// writes into a row that is being read. For a PE that has all flags of a round knows that all PEs
// are in it.
__global__ void fence_kernel(uint64_t* data, uint64_t* flags, int rounds, uint64_t* errors) {
  const int n = shmem_n_pes(), me = shmem_my_pe();
  const auto row = [n](uint64_t* base, uint64_t round, int pe, size_t words) {
    return base +
           (static_cast<size_t>(round % 2) * static_cast<size_t>(n) + static_cast<size_t>(pe)) *
               words;
  };
  for (uint64_t round = 1; round <= static_cast<uint64_t>(rounds); ++round) {
    for (int pe = 0; pe < n; ++pe) {
      for (size_t i = 0; i < 3; ++i)
        shmem_p(row(data, round, me, kWords) + 20 * i, word_of(round, i), pe);
    }
    shmem_fence();
    for (int pe = 0; pe < n; ++pe) shmem_p(row(flags, round, me, 1), round, pe);
    for (int pe = 0; pe < n; ++pe) {
      shmem_wait_until(row(flags, round, pe, 1), SHMEM_CMP_GE, round);
      for (size_t i = 0; i < 3; ++i)
        if (row(data, round, pe, kWords)[20 * i] != word_of(round, i)) count_error(errors);
    }
  }
}

TEST(DeviceLitmus, FenceOrdersPutsToEachPe) {
  const auto n = static_cast<size_t>(n_pes());
  DeviceArray<uint64_t> data(2 * n * kWords, 0), flags(2 * n, 0), errors(1, 0);
  shmem_barrier_all();
  launch(fence_kernel, 1, 1, data.data(), flags.data(), rounds(kManyRounds), errors.data());
  meet_after_kernels();
  EXPECT_EQ(errors.first(), 0u);
}

// A group puts words with a signal to the group in the next PE, whose threads read what other
// threads wrote, and then lets the previous one go on.
struct Message {
  uint64_t *data, *source, *signal, *taken;
  size_t words;
};
// Reads what has been announced, and lets the previous PE go on.
__device__ void take(const Call& call, const Message& m, uint64_t round, uint64_t* errors) {
  const int n = shmem_n_pes(), previous = (shmem_my_pe() + n - 1) % n;
  const size_t rank = threadIdx.x, size = blockDim.x;
  Untyped::signal_wait_until(call, m.signal, SHMEM_CMP_EQ, round);
  for (size_t i = rank; i < m.words; i += size) {
    const size_t others = m.words - 1 - i;
    if (m.data[others] != word_of(round, others)) count_error(errors);
  }
  __syncthreads();
  if (rank == 0) shmem_signal_set(m.taken, round, previous);
  Untyped::signal_wait_until(call, m.taken, SHMEM_CMP_EQ, round);
}
__global__ void signal_kernel(Call call, Message m, int sig_op, int rounds, uint64_t* errors) {
  const int next = (shmem_my_pe() + 1) % shmem_n_pes();
  const size_t rank = threadIdx.x, size = blockDim.x;
  for (uint64_t round = 1; round <= static_cast<uint64_t>(rounds); ++round) {
    for (size_t i = rank; i < m.words; i += size) m.source[i] = word_of(round, i);
    __syncthreads();
    const uint64_t signal = sig_op == SHMEM_SIGNAL_SET ? round : 1;
    Untyped::put_signal(call, m.data, m.source, m.words * sizeof(uint64_t), m.signal, signal,
                        sig_op, next);
    take(call, m, round, errors);
  }
}

void check_signals(Form form, int sig_op, size_t n_words, int n_rounds) {
  SCOPED_TRACE(testing::Message() << n_words << " words by a " << name_of(form));
  DeviceArray<uint64_t> data(n_words, 0), source(n_words, 0), words(32, 0), errors(1, 0);
  shmem_barrier_all();
  launch(signal_kernel, 1, block_of(form), Call{form, SHMEM_CTX_DEFAULT},
         Message{data.data(), source.data(), words.data(), words.data() + 16, n_words}, sig_op,
         n_rounds, errors.data());
  meet_after_kernels();
  EXPECT_EQ(errors.first(), 0u);
}

TEST(DeviceLitmus, SignalsAnnounceTheDataOfAllThreads) {
  for (const Form form : kGroups) {
    check_signals(form, SHMEM_SIGNAL_SET, kWords, rounds(kManyRounds) / 4);
    check_signals(form, SHMEM_SIGNAL_ADD, kManyWords, rounds(kManyRounds) / 20 + 1);
  }
}

// The same in steps: all threads put, the group completes or orders it, and one of its threads
// announces it. This is one of the first and one of the last threads in turn, so it is of another
// wave than most threads that have put.
__global__ void announce_kernel(Call call, Message m, bool with_quiet, int rounds,
                                uint64_t* errors) {
  const int next = (shmem_my_pe() + 1) % shmem_n_pes();
  const size_t rank = threadIdx.x, size = blockDim.x;
  for (uint64_t round = 1; round <= static_cast<uint64_t>(rounds); ++round) {
    for (size_t i = rank; i < m.words; i += size) shmem_p(m.data + i, word_of(round, i), next);
    if (with_quiet) {
      Untyped::quiet(call);
    } else {
      Untyped::fence(call);
    }
    const size_t nth = round / 2 % size, announcer = round % 2 == 0 ? nth : size - 1 - nth;
    if (rank == announcer) shmem_signal_set(m.signal, round, next);
    take(call, m, round, errors);
  }
}

TEST(DeviceLitmus, AnyThreadAnnouncesWhatItsGroupHasCompleted) {
  for (const bool with_quiet : {true, false}) {
    for (const Form form : kGroups) {
      SCOPED_TRACE(testing::Message()
                   << (with_quiet ? "quiet" : "fence") << " by a " << name_of(form));
      DeviceArray<uint64_t> data(kSomeForEach, 0), words(32, 0), errors(1, 0);
      shmem_barrier_all();
      launch(announce_kernel, 1, block_of(form), Call{form, SHMEM_CTX_DEFAULT},
             Message{data.data(), nullptr, words.data(), words.data() + 16, kSomeForEach},
             with_quiet, rounds(kManyRounds) / 10, errors.data());
      meet_after_kernels();
      EXPECT_EQ(errors.first(), 0u);
    }
  }
}

// A message travels through the blocks of a PE, then to the next PE, around and around; each block
// adds one to every word. Slot b is for block b to receive.
__global__ void relay_kernel(uint64_t* slots, uint64_t* signals, int laps, uint64_t* errors) {
  const int n = shmem_n_pes(), me = shmem_my_pe();
  const unsigned block = blockIdx.x, blocks = gridDim.x;
  const bool last_block = block + 1 == blocks;
  const int to_pe = last_block ? (me + 1) % n : me;
  uint64_t* mine = slots + block * kWords;
  uint64_t* to = slots + (last_block ? 0 : block + 1) * kWords;
  const auto hops = static_cast<uint64_t>(n) * blocks;
  const uint64_t place = static_cast<uint64_t>(me) * blocks + block;
  for (uint64_t lap = 0; lap < static_cast<uint64_t>(laps); ++lap) {
    const uint64_t came = lap * hops + place;  // hops so far
    if (came > 0) shmemx_signal_wait_until_block(signals + block * 16, SHMEM_CMP_GE, came);
    for (size_t i = threadIdx.x; i < kWords; i += blockDim.x) {
      const size_t other = kWords - 1 - i;
      if (came > 0 && mine[other] != came + other) count_error(errors);
    }
    __syncthreads();
    for (size_t i = threadIdx.x; i < kWords; i += blockDim.x) mine[i] = came + 1 + i;
    __syncthreads();
    shmemx_uint64_put_signal_block(to, mine, kWords, signals + (last_block ? 0 : block + 1) * 16,
                                   came + 1, SHMEM_SIGNAL_SET, to_pe);
  }
}

TEST(DeviceLitmus, SignalsWorkBetweenBlocksAndPes) {
  constexpr unsigned kBlocks = 3;
  DeviceArray<uint64_t> slots(kBlocks * kWords, 0), signals(kBlocks * 16, 0), errors(1, 0);
  shmem_barrier_all();
  launch(relay_kernel, kBlocks, odd_block(), slots.data(), signals.data(),
         rounds(kManyRounds) / (3 * n_pes()) + 1, errors.data());
  meet_after_kernels();
  EXPECT_EQ(errors.first(), 0u);
}

// Each PE writes to both neighbours, waits for completion, and looks at their writes to it. Of two
// neighbours one at least must see the other's word. Many words in a row, since PEs that begin
// together do not stay so.
constexpr int kPairs = 16;
constexpr size_t kApart = 32;  // one in a cache line
__global__ void buffering_kernel(unsigned* from_previous, unsigned* from_next, int rounds,
                                 unsigned* saw) {
  const int n = shmem_n_pes(), me = shmem_my_pe();
  for (unsigned round = 1; round <= static_cast<unsigned>(rounds); ++round) {
    unsigned seen = 0;  // of the previous PE's words in the low half, of the next one's in the high
    for (int i = 0; i < kPairs; ++i) {
      const size_t at = static_cast<size_t>(i) * kApart;
      shmem_p(from_previous + at, round, (me + 1) % n);
      shmem_p(from_next + at, round, (me + n - 1) % n);
      shmem_quiet();
      if (shmem_g(from_previous + at, me) >= round) seen |= 1u << i;
      if (shmem_g(from_next + at, me) >= round) seen |= 1u << (kPairs + i);
    }
    saw[round - 1] = seen;
    shmem_sync_all();
  }
}

TEST(DeviceLitmus, QuietKeepsStoresBeforeLaterLoads) {
  DeviceArray<unsigned> from_previous(kPairs * kApart, 0), from_next(kPairs * kApart, 0);
  const auto n_rounds = static_cast<size_t>(rounds(kManyRounds));
  DeviceArray<unsigned> saw(n_rounds, 0), next_saw(n_rounds, 0);
  shmem_barrier_all();
  launch(buffering_kernel, 1, 1, from_previous.data(), from_next.data(), n_rounds, saw.data());
  meet_after_kernels();
  shmem_getmem(next_saw.data(), saw.data(), n_rounds * sizeof(unsigned), next_pe());
  const auto mine = saw.download(), theirs = next_saw.download();
  int forbidden = 0;
  for (size_t i = 0; i < n_rounds; ++i)
    if (~(mine[i] >> kPairs) & ~theirs[i] & ((1u << kPairs) - 1)) ++forbidden;
  EXPECT_EQ(forbidden, 0) << "rounds in which neither of two PEs saw what the other had completed";
  shmem_barrier_all();
}

// Data that any thread of a block put before a barrier is there after it. Two rows in turn: a PE
// that writes a row again has seen all others in the barrier after they read it.
__global__ void barrier_kernel(Call call, bool with_quiet, uint64_t* rows, int rounds,
                               uint64_t* errors) {
  const int n = shmem_n_pes(), me = shmem_my_pe();
  const int rank = static_cast<int>(threadIdx.x), size = static_cast<int>(blockDim.x);
  const int words = size * n;  // a word of each thread, in each PE
  for (uint64_t round = 1; round <= static_cast<uint64_t>(rounds); ++round) {
    uint64_t* row = rows + (round % 2 ? words : 0);
    for (int pe = 0; pe < n; ++pe)
      shmem_p(row + me * size + rank, round * 1000 + static_cast<uint64_t>(me), pe);
    if (with_quiet) {
      Untyped::barrier_all(call);
    } else {
      Untyped::quiet(call);
      Untyped::sync_all(call);
    }
    for (int i = rank; i < words; i += size) {
      const int at = words - 1 - i;
      if (row[at] != round * 1000 + static_cast<uint64_t>(at / size)) count_error(errors);
    }
    __syncthreads();
  }
}

TEST(DeviceLitmus, BarriersInQuickSuccessionCompleteAllPuts) {
  for (const bool with_quiet : {true, false}) {
    for (const Form form : kGroups) {
      SCOPED_TRACE(name_of(form));
      const size_t words = block_of(form) * static_cast<size_t>(n_pes());
      DeviceArray<uint64_t> rows(2 * words, 0), errors(1, 0);
      shmem_barrier_all();
      launch(barrier_kernel, 1, block_of(form), Call{form, SHMEM_CTX_DEFAULT}, with_quiet,
             rows.data(), rounds(kManyRounds) / 5, errors.data());
      meet_after_kernels();
      EXPECT_EQ(errors.first(), 0u);
    }
  }
}

}  // namespace
}  // namespace meshmem
