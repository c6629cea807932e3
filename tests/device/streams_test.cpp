// SPDX-License-Identifier: Apache-2.0
//
// The routines on a stream, each by itself: copies, signals, waits, and collectives of every type
// and on several teams. Their life in graphs is in graph_test.cpp.
// Invariant: the host waits for the stream only at the end of a check; its earlier work must be in
// the order of the stream.
#include <algorithm>

#include "../api/reduction_model.hpp"
#include "device/state.hpp"
#include "own_stream.hpp"

namespace meshmem {
namespace {

constexpr int kOld = 7;
// On both sides of the sizes at which a copy becomes another kernel, and a copy engine's.
constexpr size_t kSizes[] = {0, 1, 8, 1003, 65536, 100003, 300001};
constexpr size_t kLargest = 300001;

using Bytes = std::vector<unsigned char>;

// A buffer of n bytes after `bytes` of PE `from` came to offset 1.
Bytes after_copy(size_t n, size_t bytes, int from, int round) {
  Bytes expected = samples<unsigned char>(n, my_pe(), kOld);
  const Bytes theirs = samples<unsigned char>(bytes, from, round);
  std::copy(theirs.begin(), theirs.end(), expected.begin() + 1);
  return expected;
}

struct Buffers {
  DeviceArray<unsigned char> dest{kLargest + 2}, source{kLargest};

  void prepare(int round) {
    dest.upload(samples<unsigned char>(dest.size(), my_pe(), kOld));
    source.upload(samples<unsigned char>(source.size(), my_pe(), round));
    shmem_barrier_all();
  }
  void expect(const char* what, size_t bytes, int from, int round) {
    SCOPED_TRACE(bytes);
    expect_equal(what, dest.download(), after_copy(dest.size(), bytes, from, round));
    shmem_barrier_all();
  }
};

TEST(OnStream, PutmemArrivesBeforeABarrier) {
  const OwnStream stream;
  Buffers buffers;
  int round = 0;
  for (const size_t bytes : kSizes) {
    buffers.prepare(++round);
    shmemx_putmem_on_stream(buffers.dest.data() + 1, buffers.source.data(), bytes, next_pe(),
                            stream);
    shmemx_quiet_on_stream(stream);
    shmemx_barrier_all_on_stream(stream);
    stream.synchronize();
    buffers.expect("putmem", bytes, previous_pe(), round);
  }
}

TEST(OnStream, GetmemIsThereForWhatFollows) {
  const OwnStream stream;
  Buffers buffers;
  int round = 0;
  for (const size_t bytes : kSizes) {
    buffers.prepare(++round);
    shmemx_getmem_on_stream(buffers.dest.data() + 1, buffers.source.data(), bytes, next_pe(),
                            stream);
    stream.synchronize();
    buffers.expect("getmem", bytes, next_pe(), round);
  }
}

TEST(OnStream, SignalsFollowTheDataAndWhatTheStreamDidBefore) {
  const OwnStream stream;
  Buffers buffers;
  DeviceArray<uint64_t> signals(2, 0);
  int round = 0;
  for (const size_t bytes : kSizes) {
    buffers.prepare(++round);
    const auto sum = static_cast<uint64_t>(round);
    shmemx_putmem_on_stream(buffers.dest.data() + 1, buffers.source.data(), bytes / 2, next_pe(),
                            stream);
    shmemx_putmem_signal_on_stream(buffers.dest.data() + 1 + bytes / 2,
                                   buffers.source.data() + bytes / 2, bytes - bytes / 2,
                                   signals.data(), 1, SHMEM_SIGNAL_ADD, next_pe(), stream);
    shmemx_signal_wait_until_on_stream(signals.data(), SHMEM_CMP_GE, sum, stream);
    stream.synchronize();
    buffers.expect("putmem_signal", bytes, previous_pe(), round);
    shmemx_signal_op_on_stream(signals.data() + 1, 100 + sum, SHMEM_SIGNAL_SET, next_pe(), stream);
    shmemx_signal_wait_until_on_stream(signals.data() + 1, SHMEM_CMP_EQ, 100 + sum, stream);
    stream.synchronize();
    EXPECT_EQ(signals.download(), (std::vector<uint64_t>{sum, 100 + sum}));
    shmem_barrier_all();
  }
}

__global__ void wait_and_mark_kernel(uint64_t* word, uint64_t value, int* mark) {
  shmem_uint64_wait_until(word, SHMEM_CMP_GE, value);
  *mark = 1;
}

// The host of a PE works while the PE's stream waits for another PE's.
TEST(OnStream, CallsReturnBeforeTheirWorkIsDone) {
  const OwnStream stream;
  DeviceArray<uint64_t> word(1, 0);
  DeviceArray<int> mark(1, 0);
  shmem_barrier_all();
  launch_on(stream, wait_and_mark_kernel, 1, 1, word.data(), uint64_t{5}, mark.data());
  shmemx_barrier_all_on_stream(stream);
  shmemx_signal_wait_until_on_stream(word.data(), SHMEM_CMP_EQ, 6, stream);
  shmem_uint64_atomic_set(word.data(), 5, next_pe());
  shmem_uint64_atomic_inc(word.data(), next_pe());
  stream.synchronize();
  EXPECT_EQ(mark.first(), 1);
}

void expect_success(int result) { EXPECT_EQ(result, 0); }

// A team's bytes, by the PEs' numbers in it; dest begins at offset `first`.
Bytes gathered(const TeamView& view, size_t bytes, size_t total, size_t offset_of_block,
               size_t first = 1) {
  Bytes expected = samples<unsigned char>(total, my_pe(), kOld);
  for (size_t pe = 0; pe < view.size(); ++pe) {
    for (size_t i = 0; i < bytes; ++i)
      expected[first + pe * bytes + i] =
          sample<unsigned char>(seed_of(view.world(pe), offset_of_block * bytes + i));
  }
  return expected;
}

// Copies to the host heap and from there come after the stream's earlier work, not after the call.
TEST(OnStream, CopiesOfTheHostHeapTakeTheirTurn) {
  const OwnStream stream;
  DeviceArray<uint64_t> signal(1, 0), inbox(1, 0), outbox(1, 5);
  SymmetricArray<uint64_t> on_host(1), got(1);
  on_host[0] = got[0] = 0;
  shmem_barrier_all();
  shmemx_signal_wait_until_on_stream(signal.data(), SHMEM_CMP_EQ, 1, stream);
  shmemx_getmem_on_stream(on_host.data(), outbox.data(), sizeof(uint64_t), my_pe(), stream);
  shmemx_putmem_on_stream(inbox.data(), on_host.data(), sizeof(uint64_t), my_pe(), stream);
  shmemx_getmem_on_stream(got.data(), inbox.data(), sizeof(uint64_t), my_pe(), stream);
  EXPECT_EQ(got[0], 0u);
  shmem_signal_set(signal.data(), 1, my_pe());
  stream.synchronize();
  EXPECT_EQ(got[0], 5u);
  shmem_barrier_all();
}

TEST(OnStream, CollectivesOfBytesOnEveryTeam) {
  const OwnStream stream;
  const size_t most = 100003 * static_cast<size_t>(n_pes()) + 2;
  DeviceArray<unsigned char> dest(most), source(samples<unsigned char>(most, my_pe()));
  const auto prepare = [&] { dest.upload(samples<unsigned char>(most, my_pe(), kOld)); };
  const auto expect = [&](const char* what, const Bytes& expected) {
    stream.synchronize();
    expect_equal(what, dest.download(), expected);
  };
  on_every_team([&](const TeamView& view) {
    for (const size_t bytes : {0, 1, 1003, 100003}) {
      SCOPED_TRACE(bytes);
      const int root = static_cast<int>(bytes % view.size());
      prepare();
      expect_success(shmemx_broadcastmem_on_stream(view.team, dest.data() + 1, source.data(), bytes,
                                                   root, stream));
      stream.synchronize();
      expect_equal("broadcast", dest.download(),
                   after_copy(most, bytes, view.world(static_cast<size_t>(root)), 0));
      prepare();
      expect_success(
          shmemx_fcollectmem_on_stream(view.team, dest.data() + 1, source.data(), bytes, stream));
      expect("fcollect", gathered(view, bytes, most, 0));
      prepare();
      expect_success(
          shmemx_alltoallmem_on_stream(view.team, dest.data() + 1, source.data(), bytes, stream));
      expect_success(shmemx_team_sync_on_stream(view.team, stream));
      expect("alltoall", gathered(view, bytes, most, static_cast<size_t>(view.me)));
    }
  });
}

// In units of 16 bytes, in as many blocks as there are channels: many, and for a late team one.
TEST(OnStream, LargeMovesOnTeamsWithManyChannelsAndWithOne) {
  const OwnStream stream;
  shmem_team_t teams[device::kLargeSlots];
  for (auto& team : teams)
    ASSERT_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n_pes(), nullptr, 0, &team), 0);
  constexpr size_t kBytes = 150000 / 16 * 16;
  const size_t most = kBytes * static_cast<size_t>(n_pes()) + 32;
  DeviceArray<unsigned char> dest(most), source(samples<unsigned char>(most, my_pe()));
  TeamView view = world_view();
  for (const auto& team : {SHMEM_TEAM_WORLD, teams[device::kLargeSlots - 1]}) {
    view.team = team;
    dest.upload(samples<unsigned char>(most, my_pe(), kOld));
    expect_success(
        shmemx_alltoallmem_on_stream(team, dest.data() + 16, source.data(), kBytes, stream));
    stream.synchronize();
    expect_equal("alltoall", dest.download(),
                 gathered(view, kBytes, most, static_cast<size_t>(view.me), 16));
    expect_success(
        shmemx_fcollectmem_on_stream(team, dest.data() + 16, source.data(), kBytes, stream));
    stream.synchronize();
    expect_equal("fcollect", dest.download(), gathered(view, kBytes, most, 0, 16));
    const int root = n_pes() - 1;
    dest.upload(samples<unsigned char>(most, my_pe(), kOld));
    expect_success(
        shmemx_broadcastmem_on_stream(team, dest.data() + 16, source.data(), kBytes, root, stream));
    stream.synchronize();
    std::vector<unsigned char> expected = samples<unsigned char>(most, my_pe(), kOld);
    const std::vector<unsigned char> sent = samples<unsigned char>(most, root);
    std::copy_n(sent.begin(), kBytes, expected.begin() + 16);
    expect_equal("broadcast", dest.download(), expected);
  }
  for (const auto& team : teams) shmem_team_destroy(team);
}

template <typename E>
using ReduceOnStream = int (*)(shmem_team_t, E*, const E*, size_t, shmemx_stream_t);

constexpr Op sum_reduce = Op::kSum, prod_reduce = Op::kProd, max_reduce = Op::kMax,
             min_reduce = Op::kMin, and_reduce = Op::kAnd, or_reduce = Op::kOr,
             xor_reduce = Op::kXor;

struct Reducer {
  const OwnStream& stream;
  const TeamView& view;
  DeviceArray<uint64_t>&dest_words, &source_words;

  // Into another buffer, and then in place, without waiting in between.
  template <typename E>
  void check(const char* name, Op op, ReduceOnStream<E> reduce, size_t n) const {
    SCOPED_TRACE(testing::Message() << name << ", count " << n);
    E* dest = reinterpret_cast<E*>(dest_words.data());
    E* source = reinterpret_cast<E*>(source_words.data());
    std::vector<E> mine(n);
    contribute(op, mine.data(), n);
    upload(source, mine);
    upload(dest, samples<E>(n + 2, my_pe(), kOld));
    expect_success(reduce(view.team, dest + 1, source, n, stream));
    expect_success(reduce(view.team, source, source, n, stream));
    stream.synchronize();
    const std::vector<E> period = model<E>(op, view, view.size() - 1);
    std::vector<E> expected = samples<E>(n + 2, my_pe(), kOld);
    for (size_t i = 0; i < n; ++i) expected[1 + i] = period[i % kPeriod];
    expect_equal("dest", download(dest, n + 2), expected);
    expect_model("in place", download(source, n).data(), n, period);
  }
};

TEST(OnStream, ReductionsOfEveryTypeOnEveryTeam) {
  const OwnStream stream;
  DeviceArray<uint64_t> dest(50), source(50);
  on_every_team([&](const TeamView& view) {
    const Reducer reducer{stream, view, dest, source};
    size_t n = 0;
#define MESHMEM_CHECK_REDUCE(name, op, E, ...) \
  reducer.check<E>(#name, op, shmemx_##name##_on_stream, n++ % 40);
    MESHMEM_REDUCTIONS(MESHMEM_CHECK_REDUCE, MESHMEM_IN)
#undef MESHMEM_CHECK_REDUCE
  });
}

TEST(OnStream, LargerReductions) {
  const OwnStream stream;
  const TeamView world = world_view();
  DeviceArray<uint64_t> dest(50002), source(50002);
  const Reducer reducer{stream, world, dest, source};
  reducer.check<float>("float_sum", Op::kSum, shmemx_sum_reduce_on_stream, 70001);
  reducer.check<unsigned long>("ulong_prod", Op::kProd, shmemx_prod_reduce_on_stream, 20001);
}

}  // namespace
}  // namespace meshmem
