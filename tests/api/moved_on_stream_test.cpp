// SPDX-License-Identifier: Apache-2.0
//
// The typed, sized and mem forms of puts, gets, signals, waits and moves on a stream, each row of
// the tables; also between PEs as if on several nodes.
// Invariant: no routine is named here that is in the tables.
#include <chrono>
#include <thread>

#include "placed_array.hpp"
#include "stream.hpp"
#include "team_views.hpp"

namespace meshmem {
namespace {

constexpr size_t kElems = 37;

// Arrays for a row, whatever its type, and what all of its checks do.
struct Bench {
  Stream stream;
  PlacedArray<char> dest_bytes{Place::device, kElems * 16 * 8},
      source_bytes{Place::device, kElems * 16 * 8};
  PlacedArray<uint64_t> signal{Place::device, 1};
  uint64_t rounds = 0;

  template <typename E>
  E* begin(size_t n) {
    auto* source = reinterpret_cast<E*>(source_bytes.data());
    const std::vector<E> mine = samples<E>(n, my_pe());
    expect_success(hipMemcpy(source, mine.data(), n * sizeof(E), hipMemcpyDefault));
    expect_success(hipMemset(dest_bytes.data(), 0, n * sizeof(E)));
    expect_success(hipDeviceSynchronize());
    shmem_barrier_all();
    return source;
  }
  template <typename E>
  E* dest() {
    return reinterpret_cast<E*>(dest_bytes.data());
  }
  template <typename E>
  std::vector<E> result(size_t n) {
    std::vector<E> found(n);
    expect_success(hipMemcpy(found.data(), dest_bytes.data(), n * sizeof(E), hipMemcpyDefault));
    return found;
  }
  // The work of the stream has arrived everywhere.
  void meet() {
    shmemx_quiet_on_stream(stream);
    shmemx_sync_all_on_stream(stream);
    stream.finish();
  }
};

// One check for each operation. The rows call it by the operation's name.
template <typename E, typename Routine>
void put(Bench& bench, Routine routine) {
  const E* source = bench.begin<E>(kElems);
  routine(bench.dest<E>(), source, kElems, next_pe(), bench.stream);
  bench.meet();
  expect_filled("put", bench.result<E>(kElems).data(), kElems, previous_pe());
}
template <typename E, typename Routine>
void get(Bench& bench, Routine routine) {
  const E* source = bench.begin<E>(kElems);
  routine(bench.dest<E>(), source, kElems, next_pe(), bench.stream);
  bench.meet();
  expect_filled("get", bench.result<E>(kElems).data(), kElems, next_pe());
}
template <typename E, typename Routine>
void put_signal(Bench& bench, Routine routine) {
  const E* source = bench.begin<E>(kElems);
  const uint64_t round = ++bench.rounds;
  routine(bench.dest<E>(), source, kElems, bench.signal, round, SHMEM_SIGNAL_SET, next_pe(),
          bench.stream);
  shmemx_signal_wait_until_on_stream(bench.signal, SHMEM_CMP_EQ, round, bench.stream);
  bench.stream.finish();
  shmem_quiet();
  expect_filled("put_signal", bench.result<E>(kElems).data(), kElems, previous_pe());
  bench.meet();
}
template <typename E, typename Routine>
void p(Bench& bench, Routine routine) {
  bench.begin<E>(1);
  routine(bench.dest<E>(), sample<E>(seed_of(my_pe(), 0)), next_pe(), bench.stream);
  bench.meet();
  expect_filled("p", bench.result<E>(1).data(), 1, previous_pe());
}
// The stream of each PE waits for a value that the PE before it puts, in two steps.
template <typename E, typename Routine>
void wait_until(Bench& bench, Routine routine) {
  bench.begin<E>(1);
  routine(bench.dest<E>(), SHMEM_CMP_EQ, E{7}, bench.stream);
  shmemx_signal_op_on_stream(bench.signal, ++bench.rounds, SHMEM_SIGNAL_SET, previous_pe(),
                             bench.stream);
  shmem_p(bench.dest<E>(), E{3}, next_pe());
  shmem_fence();
  shmem_p(bench.dest<E>(), E{7}, next_pe());
  shmem_quiet();
  shmem_signal_wait_until(bench.signal, SHMEM_CMP_EQ, bench.rounds);
  bench.meet();
  EXPECT_EQ(bench.result<E>(1)[0], E{7});
}
template <typename E, typename Routine>
void broadcast(Bench& bench, Routine routine) {
  const E* source = bench.begin<E>(kElems);
  EXPECT_EQ(routine(SHMEM_TEAM_WORLD, bench.dest<E>(), source, kElems, n_pes() - 1, bench.stream),
            0);
  bench.stream.finish();
  expect_filled("broadcast", bench.result<E>(kElems).data(), kElems, n_pes() - 1);
  bench.meet();
}
template <typename E, typename Routine>
void gather(Bench& bench, Routine routine) {
  const E* source = bench.begin<E>(kElems);
  EXPECT_EQ(routine(SHMEM_TEAM_WORLD, bench.dest<E>(), source, kElems, bench.stream), 0);
  bench.stream.finish();
  const std::vector<E> found = bench.result<E>(kElems * static_cast<size_t>(n_pes()));
  for (int pe = 0; pe < n_pes(); ++pe)
    expect_filled("block", found.data() + kElems * static_cast<size_t>(pe), kElems, pe);
  bench.meet();
}
template <typename E, typename Routine>
void fcollect(Bench& bench, Routine routine) {
  gather<E>(bench, routine);
}
template <typename E, typename Routine>
void collect(Bench& bench, Routine routine) {
  gather<E>(bench, routine);
}
template <typename E, typename Routine>
void alltoall(Bench& bench, Routine routine) {
  const auto n = static_cast<size_t>(n_pes());
  const E* source = bench.begin<E>(kElems * n);
  EXPECT_EQ(routine(SHMEM_TEAM_WORLD, bench.dest<E>(), source, kElems, bench.stream), 0);
  bench.stream.finish();
  const std::vector<E> found = bench.result<E>(kElems * n);
  expect_each("alltoall", found.data(), found.size(), [&](size_t i) {
    const size_t place = static_cast<size_t>(my_pe()) * kElems + i % kElems;
    return sample<E>(seed_of(static_cast<int>(i / kElems), place));
  });
  bench.meet();
}
template <typename E, typename Routine>
void alltoallv(Bench&, Routine) {}  // alltoallv_test.cpp

#define CHECK(name, op, E, result, params, args) \
  if (++turn % 8 == 1 || !kSanitized) {          \
    SCOPED_TRACE(#name);                         \
    op<E>(bench, shmemx_##name##_on_stream);     \
  }

TEST(MovedOnStream, EveryType) {
  Bench bench;
  int turn = 0;
  MESHMEM_MOVED_ON_STREAM(CHECK, MESHMEM_IN)
  EXPECT_GT(turn, 200);
}

TEST(MovedOnStream, EverySizeAndMem) {
  Bench bench;
  int turn = 0;
  MESHMEM_SIZES(MESHMEM_SIZED_MOVED_ROW, CHECK)
  MESHMEM_SIZED_MOVED_ROW(mem, char, CHECK)
  MESHMEM_OPS_MOVE(CHECK, , mem, char, void)
}
#undef CHECK

TEST(MovedOnStream, OverloadsTakeTheTypeOfTheirArguments) {
  Bench bench;
  const float* source = bench.begin<float>(kElems);
  shmemx_put_on_stream(bench.dest<float>(), source, kElems, next_pe(), bench.stream);
  bench.meet();
  expect_filled("put", bench.result<float>(kElems).data(), kElems, previous_pe());
  bench.begin<float>(1);
  shmemx_p_on_stream(bench.dest<float>(), 2.5F, next_pe(), bench.stream);
  bench.meet();
  EXPECT_EQ(bench.result<float>(1)[0], 2.5F);
}

TEST(MovedOnStream, AFenceOfTheHostOrdersWhatAFinishedStreamHasPut) {
  Stream stream;
  PlacedArray<long> data(Place::host, 1), flag(Place::host, 1);
  data.write({0});
  flag.write({0});
  shmem_barrier_all();
  const int reader = n_pes() - 1;
  for (long i = 1; i <= 20; ++i) {
    if (my_pe() == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));  // so that the proxy naps
      shmemx_long_p_on_stream(data, i, reader, stream);
      stream.finish();
      shmem_fence();
      shmem_long_p(flag, i, reader);
    }
    if (my_pe() == reader) {
      shmem_long_wait_until(flag, SHMEM_CMP_EQ, i);
      EXPECT_EQ(data.read()[0], i);
    }
    shmem_barrier_all();
  }
}

}  // namespace
}  // namespace meshmem
