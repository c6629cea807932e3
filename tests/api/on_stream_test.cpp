// SPDX-License-Identifier: Apache-2.0
//
// Routines that take their place on a stream: each, alone and in graphs that are replayed.
// Invariant: the host waits for the stream alone; results are checked after one
// hipStreamSynchronize.
#include <string_view>

#include "placed_array.hpp"
#include "stream.hpp"
#include "typed_routines.hpp"

namespace meshmem {
namespace {

constexpr size_t kElems = 500;

TEST(OnStream, PutAndGetOfAllLengths) {
  Stream stream;
  for (const Place place : kPlaces) {
    SCOPED_TRACE(name_of(place));
    for (const size_t n : {size_t{0}, size_t{1}, size_t{1000}, (size_t{1} << 20) + 3}) {
      PlacedArray<uint8_t> dest(place, n + 1), source(Place::device, n + 1);
      source.write(samples<uint8_t>(n + 1, my_pe(), 1));
      dest.write(samples<uint8_t>(n + 1, my_pe(), 2));
      shmem_barrier_all();
      shmemx_putmem_on_stream(dest, source, n, next_pe(), stream);
      shmemx_quiet_on_stream(stream);
      shmemx_barrier_all_on_stream(stream);
      stream.finish();
      std::vector<uint8_t> got = dest.read();
      expect_filled("put", got.data(), n, previous_pe(), 1);
      EXPECT_EQ(got[n], sample<uint8_t>(seed_of(my_pe(), n, 2)));
      shmem_barrier_all();
      shmemx_getmem_on_stream(source, dest, n, next_pe(), stream);
      stream.finish();
      expect_filled("get", source.read().data(), n, my_pe(), 1);
      shmem_barrier_all();
    }
  }
}

// The runtime remembers the error of a failed call of the program. The library neither fails
// because of it nor clears it.
TEST(OnStream, AFailureThatTheProgramHasHandledIsLeftAlone) {
  Stream stream;
  PlacedArray<long> dest(Place::device, kElems), source(Place::device, kElems);
  void* memory = nullptr;
  ASSERT_NE(hipMalloc(&memory, size_t{1} << 60), hipSuccess);
  stream.finish();  // some versions of HIP forget it here
  const hipError_t remembered = hipPeekAtLastError();
  shmemx_putmem_on_stream(dest, source, kElems * sizeof(long), next_pe(), stream);
  shmemx_quiet_on_stream(stream);
  shmemx_barrier_all_on_stream(stream);
  EXPECT_EQ(hipGetLastError(), remembered);
  stream.finish();
}

// Data goes round the ring of PEs, each PE's stream waiting for the one before.
TEST(OnStream, SignalsCarryDataRoundTheRing) {
  Stream stream;
  for (const auto& [n, place] :
       {std::pair(size_t{1}, Place::device), std::pair(kElems, Place::host),
        std::pair(size_t{200000}, Place::device)}) {
    PlacedArray<long> data(Place::device, n);
    PlacedArray<uint64_t> sig(place, 1);
    sig.write({0});
    data.write(samples<long>(n, my_pe()));
    shmem_barrier_all();
    if (my_pe() != 0) shmemx_signal_wait_until_on_stream(sig, SHMEM_CMP_EQ, 1, stream);
    shmemx_putmem_signal_on_stream(data, data, n * sizeof(long), sig, 1, SHMEM_SIGNAL_ADD,
                                   next_pe(), stream);
    if (my_pe() == 0) shmemx_signal_wait_until_on_stream(sig, SHMEM_CMP_EQ, 1, stream);
    stream.finish();
    shmem_barrier_all();
    expect_filled("ring", data.read().data(), n, 0);
    shmemx_signal_op_on_stream(sig, 77, SHMEM_SIGNAL_SET, next_pe(), stream);
    stream.finish();
    shmem_signal_wait_until(sig, SHMEM_CMP_EQ, 77);
    shmem_barrier_all();
  }
}

TEST(OnStream, CollectivesMoveData) {
  Stream stream;
  const auto n = static_cast<size_t>(n_pes());
  shmem_team_t reversed = SHMEM_TEAM_INVALID;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, n_pes() - 1, -1, n_pes(), nullptr, 0, &reversed);
  for (const shmem_team_t team : {SHMEM_TEAM_WORLD, reversed}) {
    const auto world = [&](size_t pe) {
      return shmem_team_translate_pe(team, static_cast<int>(pe), SHMEM_TEAM_WORLD);
    };
    PlacedArray<int> dest(Place::device, n * kElems), source(Place::device, n * kElems);
    source.write(samples<int>(n * kElems, my_pe()));
    shmem_barrier_all();
    const size_t bytes = kElems * sizeof(int);
    EXPECT_EQ(shmemx_broadcastmem_on_stream(team, dest, source, bytes, n_pes() - 1, stream), 0);
    EXPECT_EQ(shmemx_team_sync_on_stream(team, stream), 0);
    stream.finish();
    expect_filled("broadcast", dest.read().data(), kElems, world(n - 1));
    EXPECT_EQ(shmemx_fcollectmem_on_stream(team, dest, source, bytes, stream), 0);
    stream.finish();
    expect_each("fcollect", dest.read().data(), n * kElems,
                [&](size_t i) { return sample<int>(seed_of(world(i / kElems), i % kElems)); });
    EXPECT_EQ(shmemx_team_sync_on_stream(team, stream), 0);
    EXPECT_EQ(shmemx_alltoallmem_on_stream(team, dest, source, bytes, stream), 0);
    stream.finish();
    const auto me = static_cast<size_t>(shmem_team_my_pe(team));
    expect_each("alltoall", dest.read().data(), n * kElems, [&](size_t i) {
      return sample<int>(seed_of(world(i / kElems), me * kElems + i % kElems));
    });
    shmem_barrier_all();
  }
  shmem_team_destroy(reversed);
}

// Lengths around those at which the way changes, whole words or not, at even addresses or not. On
// processors shorter ones are enough: no other way is taken for longer ones.
TEST(OnStream, CollectivesMoveBlocksOfAllLengths) {
  std::vector<size_t> lengths{1, 7, 8, 9, 64, 500, 512, 1000, 1024, 4100, 8192, 8200};
  if (!kSanitized) lengths.insert(lengths.end(), {32768, 32776, 65536, 131071});
  if (is_on_gpu())
    lengths.insert(lengths.end(), {131072, 131080, 262144, 262152, 1000003, 1 << 20, (1 << 20) + 8,
                                   (2 << 20) - 1, 2 << 20, (2 << 20) + 8, (4 << 20) + 16});
  constexpr size_t kMostShift = 8;
  Stream stream;
  const auto n = static_cast<size_t>(n_pes()), me = static_cast<size_t>(my_pe());
  const size_t most = n * lengths.back() + kMostShift;
  PlacedArray<unsigned char> source(Place::device, most), gathered(Place::device, most),
      swapped(Place::device, most), first(Place::device, most), last(Place::device, most);
  std::vector<unsigned char> mine(most);
  for (const size_t bytes : lengths) {
    for (const size_t shift : {size_t{0}, size_t{3}, kMostShift}) {
      SCOPED_TRACE(testing::Message() << bytes << " bytes, " << shift << " further");
      for (size_t i = 0; i < n * bytes; ++i) mine[shift + i] = byte_of(me, i);
      source.write(mine);
      shmem_barrier_all();
      const auto at = [shift](PlacedArray<unsigned char>& array) { return array.data() + shift; };
      EXPECT_EQ(
          shmemx_fcollectmem_on_stream(SHMEM_TEAM_WORLD, at(gathered), at(source), bytes, stream),
          0);
      EXPECT_EQ(
          shmemx_broadcastmem_on_stream(SHMEM_TEAM_WORLD, at(first), at(source), bytes, 0, stream),
          0);
      EXPECT_EQ(
          shmemx_alltoallmem_on_stream(SHMEM_TEAM_WORLD, at(swapped), at(source), bytes, stream),
          0);
      EXPECT_EQ(shmemx_broadcastmem_on_stream(SHMEM_TEAM_WORLD, at(last), at(source), bytes,
                                              n_pes() - 1, stream),
                0);
      stream.finish();
      const auto expect = [&](const char* what, PlacedArray<unsigned char>& array, size_t count,
                              const auto& expected) {
        const std::vector<unsigned char> all = array.read();
        expect_each(what, all.data() + shift, count, expected);
      };
      expect("fcollect", gathered, n * bytes,
             [&](size_t i) { return byte_of(i / bytes, i % bytes); });
      expect("alltoall", swapped, n * bytes,
             [&](size_t i) { return byte_of(i / bytes, me * bytes + i % bytes); });
      expect("broadcast of the first", first, bytes, [&](size_t i) { return byte_of(0, i); });
      expect("broadcast of the last", last, bytes, [&](size_t i) { return byte_of(n - 1, i); });
      shmem_barrier_all();
    }
  }
}

TEST(OnStream, ScattersSumsOfAllLengths) {
  std::vector<size_t> counts{1, 2, 3, 127, 128, 129, 1025, 4095};
  if (!kSanitized) counts.insert(counts.end(), {8191, 8192, 8193, 20001});
  if (is_on_gpu()) counts.insert(counts.end(), {65536, 131071, 262147, 524288, 1048580});
  Stream stream;
  const auto n = static_cast<size_t>(n_pes()), me = static_cast<size_t>(my_pe());
  PlacedArray<int> source(Place::device, n * counts.back()), dest(Place::device, counts.back());
  std::vector<int> mine(n * counts.back());
  const auto term = [](size_t pe, size_t i) {
    return static_cast<int>(scramble(pe << 40 | i) >> 40);
  };
  for (size_t i = 0; i < mine.size(); ++i) mine[i] = term(me, i);
  source.write(mine);
  shmem_barrier_all();
  for (const size_t count : counts) {
    SCOPED_TRACE(count);
    EXPECT_EQ(
        shmemx_int_sum_reduce_scatter_on_stream(SHMEM_TEAM_WORLD, dest, source, count, stream), 0);
    stream.finish();
    expect_each("sum", dest.read().data(), count, [&](size_t i) {
      int sum = 0;
      for (size_t pe = 0; pe < n; ++pe) sum += term(pe, me * count + i);
      return sum;
    });
  }
}

template <typename E, typename Reduce, typename Combine>
void check_reduce(const char* what, const Reduce& reduce, const Combine& combine) {
  SCOPED_TRACE(what);
  if (kSanitized && std::string_view(what) != "long_sum_reduce") return;
  Stream stream;
  PlacedArray<E> dest(Place::device, kElems), source(Place::device, kElems);
  // Terms have both signs, so that a type's signedness matters for their order. Products stay
  // small.
  const bool is_product = std::string_view(what).find("prod") != std::string_view::npos;
  const auto term = [is_product](int pe, size_t i) {
    const size_t place = static_cast<size_t>(pe) * 7 + i * 3;
    const E value = static_cast<E>(place % 5 + 1);
    return is_product || place % 3 != 0 ? value : static_cast<E>(-value);
  };
  std::vector<E> mine(kElems);
  for (size_t i = 0; i < kElems; ++i) mine[i] = term(my_pe(), i);
  source.write(mine);
  shmem_barrier_all();
  EXPECT_EQ(reduce(SHMEM_TEAM_WORLD, dest.data(), source.data(), kElems, stream), 0);
  EXPECT_EQ(reduce(SHMEM_TEAM_WORLD, source.data(), source.data(), kElems, stream), 0);
  stream.finish();
  const auto expected = [&](size_t i) {
    E value = term(0, i);
    for (int pe = 1; pe < n_pes(); ++pe) value = combine(value, term(pe, i));
    return value;
  };
  expect_each(what, dest.read().data(), kElems, expected);
  expect_each("in place", source.read().data(), kElems, expected);
  shmem_barrier_all();
}

struct Combine {
  template <typename E>
  static E max_reduce(E a, E b) {
    return a > b ? a : b;
  }
  template <typename E>
  static E min_reduce(E a, E b) {
    return a < b ? a : b;
  }
  template <typename E>
  static E sum_reduce(E a, E b) {
    return static_cast<E>(a + b);
  }
  template <typename E>
  static E prod_reduce(E a, E b) {
    return static_cast<E>(a * b);
  }
  template <typename E>
  static E and_reduce(E a, E b) {
    return static_cast<E>(a & b);
  }
  template <typename E>
  static E or_reduce(E a, E b) {
    return static_cast<E>(a | b);
  }
  template <typename E>
  static E xor_reduce(E a, E b) {
    return static_cast<E>(a ^ b);
  }
};

TEST(OnStream, ReducesEveryTypeByEveryOperation) {
#define CHECK(name, op, E, result, params, args) \
  check_reduce<E>(#name, shmemx_##name##_on_stream, [](E a, E b) { return Combine::op<E>(a, b); });
  MESHMEM_REDUCTIONS(CHECK, MESHMEM_IN)
#undef CHECK
}

// As many elements as the PE's number in the team, the first none.
TEST(OnStream, CollectTakesWhatEachPeHas) {
  Stream stream;
  const auto n = static_cast<size_t>(n_pes());
  PlacedArray<int> dest(Place::device, n * n), source(Place::device, n);
  source.write(samples<int>(n, my_pe()));
  shmem_barrier_all();
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(shmemx_collectmem_on_stream(SHMEM_TEAM_WORLD, dest, source,
                                          static_cast<size_t>(my_pe()) * sizeof(int), stream),
              0);
  }
  stream.finish();
  const std::vector<int> got = dest.read();
  for (int pe = 0; pe < n_pes(); ++pe) {
    const auto before = static_cast<size_t>(pe * (pe - 1) / 2);
    expect_filled("collect", got.data() + before, static_cast<size_t>(pe), pe);
  }
  shmem_barrier_all();
}

template <typename E, typename Scan>
void check_scan(const char* what, const Scan& scan, bool inclusive) {
  SCOPED_TRACE(what);
  if (kSanitized && std::string_view(what) != "long_sum_inscan") return;
  Stream stream;
  PlacedArray<E> values(Place::device, kElems);
  // Terms have both signs, so that a type's signedness matters for their order. Products stay
  // small.
  const bool is_product = std::string_view(what).find("prod") != std::string_view::npos;
  const auto term = [is_product](int pe, size_t i) {
    const size_t place = static_cast<size_t>(pe) * 7 + i * 3;
    const E value = static_cast<E>(place % 5 + 1);
    return is_product || place % 3 != 0 ? value : static_cast<E>(-value);
  };
  std::vector<E> mine(kElems);
  for (size_t i = 0; i < kElems; ++i) mine[i] = term(my_pe(), i);
  values.write(mine);
  shmem_barrier_all();
  EXPECT_EQ(scan(SHMEM_TEAM_WORLD, values.data(), values.data(), kElems, stream), 0);
  stream.finish();
  expect_each(what, values.read().data(), kElems, [&](size_t i) {
    E value = 0;
    for (int pe = 0; pe < my_pe() + (inclusive ? 1 : 0); ++pe)
      value = static_cast<E>(value + term(pe, i));
    return value;
  });
  shmem_barrier_all();
}

TEST(OnStream, ScansEveryType) {
#define CHECK(name, op, E, result, params, args) \
  check_scan<E>(#name, shmemx_##name##_on_stream, std::string_view(#op) == "sum_inscan");
  MESHMEM_SCANS(CHECK, MESHMEM_IN)
#undef CHECK
}

// A step of an iteration: sum, pass on with a signal, wait for what comes.
TEST(OnStream, AGraphIsReplayed) {
  constexpr int kReplays = kSanitized ? 10 : 200;
  Stream stream;
  PlacedArray<long> mine(Place::device, kElems), sums(Place::device, kElems),
      passed(Place::device, kElems);
  PlacedArray<uint64_t> sig(Place::device, 1);
  sig.write({0});
  mine.write(std::vector<long>(kElems, 1));
  shmem_barrier_all();

  hipGraph_t graph = nullptr;
  hipGraphExec_t replay = nullptr;
  expect_success(hipStreamBeginCapture(stream.hip(), hipStreamCaptureModeGlobal));
  shmemx_sum_reduce_on_stream(SHMEM_TEAM_WORLD, sums.data(), mine.data(), kElems, stream);
  shmemx_putmem_signal_on_stream(passed, sums, kElems * sizeof(long), sig, 1, SHMEM_SIGNAL_ADD,
                                 next_pe(), stream);
  shmemx_signal_wait_until_on_stream(sig, SHMEM_CMP_GE, 1, stream);
  shmemx_barrier_all_on_stream(stream);
  expect_success(hipStreamEndCapture(stream.hip(), &graph));
  expect_success(hipGraphInstantiate(&replay, graph, nullptr, nullptr, 0));
  for (int i = 0; i < kReplays; ++i) expect_success(hipGraphLaunch(replay, stream.hip()));
  stream.finish();
  expect_all("sums", sums.read().data(), kElems, static_cast<long>(n_pes()));
  expect_all("passed", passed.read().data(), kElems, static_cast<long>(n_pes()));
  shmem_barrier_all();
  EXPECT_EQ(sig.read_first(), static_cast<uint64_t>(kReplays));
  expect_success(hipGraphExecDestroy(replay));
  expect_success(hipGraphDestroy(graph));
  shmem_barrier_all();
}

// MESHMEM_CHECK asks whether earlier work is over: on AMD GPUs that ends the capture of its stream.
TEST(OnStream, EarlierWorkDoesNotEndACapture) {
  Stream stream, other;
  PlacedArray<long> dest(Place::device, kElems), source(Place::device, kElems);
  void* block = shmem_malloc_with_hints(64, SHMEMX_MALLOC_DEVICE);
  shmemx_putmem_on_stream(block, source, 64, my_pe(), stream);
  stream.finish();
  hipGraph_t graph = nullptr;
  expect_success(hipStreamBeginCapture(stream.hip(), hipStreamCaptureModeRelaxed));
  shmemx_putmem_on_stream(dest, source, 64, my_pe(), other);
  shmem_free(block);
  shmemx_putmem_on_stream(dest, source, 64, my_pe(), stream);
  expect_success(hipStreamEndCapture(stream.hip(), &graph));
  expect_success(hipGraphDestroy(graph));
  other.finish();
  shmem_barrier_all();
}

}  // namespace
}  // namespace meshmem
