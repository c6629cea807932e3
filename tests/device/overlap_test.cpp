// SPDX-License-Identifier: Apache-2.0
//
// meshmem/overlap.hpp against sums on the host, bit by bit: random matrices, tiles and grids. Calls
// are back to back, in place, at any address, on teams, in graphs, and by kernels of their own.
// Also errors for wrong arguments.
// Invariant: values differ from call to call, and blocks take random times. So a row that is read
// too early, or that belongs to another call, shows.
#include <algorithm>
#include <meshmem/overlap.hpp>
#include <string>

#include "../api/random_numbers.hpp"
#include "../api/team_views.hpp"
#include "drawn_values.hpp"
#include "guarded_buffer.hpp"
#include "own_stream.hpp"
#include "same_bits.hpp"

namespace meshmem {
namespace {

constexpr unsigned kBlocks = TiledCall::kBlocks, kThreads = 64;

void expect_ok(const Status& status) { EXPECT_TRUE(status.ok()) << status.text(); }

// Element i of what a PE brings in a round.
template <typename E>
__host__ __device__ E element(int pe, int round, size_t i) {
  return fraction<E>(false, mixed(mixed(static_cast<std::uint64_t>(pe * 64 + round)) + i * 4099));
}

// In ticks of the device's clock, which are nanoseconds on cpu.
__device__ void spend_time(long long ticks) {
  const long long start = clock64();
  while (clock64() - start < ticks) device::pause();
}

// How the blocks that compute divide the work: by tiles in turn, or by bands of rows that touch
// several tiles; each in two parts of the columns.
struct Work {
  unsigned blocks;
  std::size_t band_rows;  // 0: by tiles
  int delay, round;

  template <typename Tiles>
  __device__ std::size_t count(const Tiles& tiles) const {
    return band_rows == 0 ? tiles.all_tiles() : (tiles.rows + band_rows - 1) / band_rows;
  }
  template <typename Tiles>
  __device__ Rows rows(const Tiles& tiles, std::size_t i) const {
    if (band_rows == 0) return tiles.tile_in_turn(i);
    const std::size_t first = i * band_rows, left = tiles.rows - first;
    return {first, band_rows < left ? band_rows : left};
  }
  __device__ void delay_some(std::size_t i) const {
    if (delay > 0) spend_time(static_cast<long long>(mixed(i + blockIdx.x) % delay) * 1000);
  }
};

template <typename E>
__device__ void store_part(const ReduceScatterTiles<E>& tiles, E* partial, Rows rows,
                           std::size_t first, std::size_t end, const Work& work) {
  const std::size_t columns = tiles.row_bytes / sizeof(E), width = end - first;
  for (std::size_t k = threadIdx.x; k < rows.count * width; k += blockDim.x) {
    const std::size_t i = (rows.first + k / width) * columns + first + k % width;
    partial[i] = element<E>(shmem_my_pe(), work.round, i);
  }
  tiles.announce(rows, width);
}
template <typename E>
__global__ void produce(const ReduceScatterTiles<E> tiles, E* partial, const Work work) {
  if (tiles.communicates()) return tiles.communicate();
  const std::size_t columns = tiles.row_bytes / sizeof(E);
  for (std::size_t i = blockIdx.x - kBlocks; i < work.count(tiles); i += work.blocks) {
    work.delay_some(i);
    store_part(tiles, partial, work.rows(tiles, i), columns / 3, columns, work);
    if (columns / 3 > 0) store_part(tiles, partial, work.rows(tiles, i), 0, columns / 3, work);
  }
}
template <typename E>
__global__ void produce_rows(E* partial, Rows rows, std::size_t columns, int round) {
  for (std::size_t k = threadIdx.x; k < rows.count * columns; k += blockDim.x)
    partial[rows.first * columns + k] = element<E>(shmem_my_pe(), round, rows.first * columns + k);
}

template <typename E>
__global__ void consume(const AllGatherTiles<E> tiles, E* copy, const Work work) {
  if (tiles.communicates()) return tiles.communicate();
  const std::size_t columns = tiles.row_bytes / sizeof(E);
  for (std::size_t i = blockIdx.x - kBlocks; i < work.count(tiles); i += work.blocks) {
    const Rows rows = work.rows(tiles, i);
    work.delay_some(i);
    tiles.wait(rows);
    for (std::size_t k = threadIdx.x; k < rows.count * columns; k += blockDim.x)
      copy[rows.first * columns + k] = tiles.gathered()[rows.first * columns + k];
  }
}
template <typename E>
__global__ void copy_rows(const E* from, E* to, Rows rows, std::size_t columns) {
  for (std::size_t k = threadIdx.x; k < rows.count * columns; k += blockDim.x)
    to[rows.first * columns + k] = from[rows.first * columns + k];
}

struct Case {
  TiledShape shape;
  size_t offset;
  bool in_place;
  Work work;
};

// The share of this PE, as sums in the order of PEs.
template <typename E>
std::vector<E> expected_sums(const TeamView& view, const TiledCall& call, size_t columns,
                             int round) {
  const Rows mine = call.share_of(view.me);
  std::vector<E> sums;
  for (size_t i = mine.first * columns; i < (mine.first + mine.count) * columns; ++i) {
    float sum = 0;
    for (size_t pe = 0; pe < view.size(); ++pe)
      sum += static_cast<float>(element<E>(view.world(pe), round, i));
    sums.push_back(E(sum));
  }
  return sums;
}
template <typename E>
std::vector<E> expected_rows(const TeamView& view, const TiledCall& call, size_t columns,
                             int round) {
  std::vector<E> rows(call.rows * columns, E(0.0F));
  for (size_t pe = 0; pe < view.size(); ++pe) {
    const Rows share = call.share_of(static_cast<int>(pe));
    for (size_t i = 0; i < share.count * columns; ++i)
      rows[share.first * columns + i] = element<E>(view.world(pe), round, i);
  }
  return rows;
}
template <typename E>
void expect_bits(const std::vector<E>& found, const std::vector<E>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_EQ(digest(&found[i], 1), digest(&expected[i], 1))
        << "element " << i << " is " << in_double(found[i]) << ", not " << in_double(expected[i]);
}

// Two calls back to back, of which the second overwrites the first one's matrix.
template <typename E>
void check_reduce_scatter(Overlap& overlap, const TeamView& view, const Case& test,
                          const OwnStream& stream) {
  const size_t rows = test.shape.rows, columns = test.shape.columns, all = rows * columns;
  const size_t share = (rows + view.size() - 1) / view.size();
  GuardedBuffer<E> partial(all, test.offset), first(share * columns, 0), second(share * columns, 1);
  ReduceScatterTiles<E> tiles{};
  const size_t before = std::min(rows, static_cast<size_t>(view.me) * share) * columns;
  for (int i = 0; i < 2; ++i) {
    E* const result = i == 0 ? +first : test.in_place ? partial + before : +second;
    Work work = test.work;
    work.round += i;
    expect_ok(overlap.reduce_scatter<E>(partial, result, test.shape, stream, &tiles));
    launch_on(stream, produce<E>, kBlocks + work.blocks, kThreads, tiles, +partial, work);
  }
  stream.synchronize();
  const size_t mine = tiles.share_of(view.me).count * columns;
  for (int i = 0; i < 2; ++i) {
    SCOPED_TRACE(testing::Message() << "call " << i);
    std::vector<E> found = i == 0 ? first.get() : test.in_place ? partial.get() : second.get();
    if (i == 1 && test.in_place)
      found.erase(found.begin(), found.begin() + static_cast<long>(before));
    found.resize(mine);
    expect_bits(found, expected_sums<E>(view, tiles, columns, test.work.round + i));
  }
}

template <typename E>
void check_all_gather(Overlap& overlap, const TeamView& view, const Case& test,
                      const OwnStream& stream) {
  const size_t rows = test.shape.rows, columns = test.shape.columns, all = rows * columns;
  const size_t share = (rows + view.size() - 1) / view.size();
  const size_t first = std::min(rows, static_cast<size_t>(view.me) * share);
  const Rows mine{0, std::min(share, rows - first)};
  GuardedBuffer<E> source(share * columns, test.offset), once(all, 0), again(all, test.offset);
  AllGatherTiles<E> tiles{};
  for (int i = 0; i < 2; ++i) {
    E* const from = test.in_place ? static_cast<E*>(overlap.gathered()) + first * columns : source;
    Work work = test.work;
    work.round += i;
    launch_on(stream, produce_rows<E>, 1, kThreads, from, mine, columns, work.round);
    expect_ok(overlap.all_gather<E>(from, test.shape, stream, &tiles));
    launch_on(stream, consume<E>, kBlocks + work.blocks, kThreads, tiles, i == 0 ? +once : +again,
              work);
  }
  stream.synchronize();
  expect_bits(once.get(), expected_rows<E>(view, tiles, columns, test.work.round));
  expect_bits(again.get(), expected_rows<E>(view, tiles, columns, test.work.round + 1));
}

template <typename E>
void check(Overlap& overlap, const TeamView& view, const Case& test, const OwnStream& stream) {
  SCOPED_TRACE(testing::Message() << test.shape.rows << " x " << test.shape.columns << " of "
                                  << sizeof(E) << " bytes, tiles of " << test.shape.tile_rows
                                  << " rows, offset " << test.offset
                                  << (test.in_place ? ", in place, " : ", ") << test.work.blocks
                                  << " blocks, bands of " << test.work.band_rows << ", round "
                                  << test.work.round);
  check_reduce_scatter<E>(overlap, view, test, stream);
  check_all_gather<E>(overlap, view, test, stream);
}
void check_each_type(Overlap& overlap, const TeamView& view, const Case& test,
                     const OwnStream& stream) {
  check<meshmem_bfloat16>(overlap, view, test, stream);
  check<meshmem_half>(overlap, view, test, stream);
  check<float>(overlap, view, test, stream);
}

// Of a number that all PEs know, but each PE has its own grid.
Case drawn_case(int number) {
  Random common(static_cast<std::uint64_t>(number)),
      own(static_cast<std::uint64_t>(number * 64 + my_pe()));
  const std::size_t rows = common.below(4) == 0 ? common.below(9) : common.below(200);
  const std::size_t columns = common.below(3) == 0 ? 8 * common.below(20) : common.below(90);
  const std::size_t tile_rows = common.below(2) == 0 ? 128 : 1 + common.below(20);
  return {{rows, columns, tile_rows},
          own.below(3),
          own.below(2) == 0,
          {1 + static_cast<unsigned>(own.below(4)), own.below(2) * (1 + own.below(30)),
           static_cast<int>(own.below(3) * 40), number % 60}};
}

TEST(Overlap, RandomMatrices) {
  Overlap overlap(SHMEM_TEAM_WORLD, 1 << 20);
  expect_ok(overlap.status());
  const OwnStream stream;
  for (int number = 0; number < rounds(24); ++number)
    check_each_type(overlap, world_view(), drawn_case(number), stream);
}

// Fewer rows than PEs, no rows, no columns, one element; more tiles than a share may have.
TEST(Overlap, EdgesOfShapes) {
  Overlap overlap(SHMEM_TEAM_WORLD, 1 << 20);
  const OwnStream stream;
  const auto n = static_cast<std::size_t>(n_pes());
  int round = 0;
  for (const TiledShape shape :
       {TiledShape{1, 1}, TiledShape{n - 1, 3}, TiledShape{n, 8}, TiledShape{n + 1, 129},
        TiledShape{0, 5}, TiledShape{3, 0}, TiledShape{70 * n, 2, 1}, TiledShape{9, 9, SIZE_MAX}})
    check_each_type(overlap, world_view(), {shape, 0, false, {2, 0, 0, round++}}, stream);
}

TEST(Overlap, OfATeamIsUsedByItsPes) {
  const int n = n_pes();
  for (const TeamView& view : {make_view(n - 1, -1, n), make_view(0, 2, (n + 1) / 2)}) {
    Overlap overlap(view.team, 1 << 18);
    const OwnStream stream;
    if (view.me >= 0) {
      expect_ok(overlap.status());
      for (int number = 100; number < 104; ++number)
        check_each_type(overlap, view, drawn_case(number), stream);
    } else {
      AllGatherTiles<float> tiles{};
      EXPECT_STREQ(overlap.all_gather<float>(nullptr, {8, 8}, stream, &tiles).text(),
                   "Overlap: this PE is not in the team");
    }
    shmem_barrier_all();
    if (view.me >= 0) shmem_team_destroy(view.team);
  }
}

// The work of a GEMM that cannot be changed, in chunks, with communication on a second stream.
class Chunks {
 public:
  explicit Chunks(const OwnStream& stream) : stream_(stream) {
    for (hipEvent_t* event : {&begun_, &ended_})
      must(hipEventCreateWithFlags(event, hipEventDisableTiming), "hipEventCreateWithFlags");
  }
  ~Chunks() {
    for (hipEvent_t event : {begun_, ended_}) must(hipEventDestroy(event), "hipEventDestroy");
  }
  Chunks(const Chunks&) = delete;
  Chunks& operator=(const Chunks&) = delete;

  template <typename E>
  void reduce_scatter(Overlap& overlap, E* partial, E* result, const TiledShape& shape, int round) {
    ReduceScatterTiles<E> tiles{};
    expect_ok(overlap.reduce_scatter<E>(partial, result, shape, stream_, &tiles));
    must(hipEventRecord(begun_, stream_), "hipEventRecord");
    for (int i = 1; i <= tiles.n; ++i) {
      const Rows rows = tiles.share_of((tiles.me + i) % tiles.n);
      launch_on(stream_, produce_rows<E>, 1, kThreads, partial, rows, shape.columns, round);
      expect_ok(Overlap::announce(tiles, rows, stream_));
    }
    must(hipStreamWaitEvent(side_, begun_, 0), "hipStreamWaitEvent");
    expect_ok(Overlap::communicate(tiles, side_));
    join();
  }
  template <typename E>
  void all_gather(Overlap& overlap, const E* mine, E* copy, const TiledShape& shape) {
    AllGatherTiles<E> tiles{};
    expect_ok(overlap.all_gather<E>(mine, shape, stream_, &tiles));
    must(hipEventRecord(begun_, stream_), "hipEventRecord");
    must(hipStreamWaitEvent(side_, begun_, 0), "hipStreamWaitEvent");
    expect_ok(Overlap::communicate(tiles, side_));
    for (int i = 0; i < tiles.n; ++i) {
      const Rows rows = tiles.share_of((tiles.me + tiles.n - i) % tiles.n);
      expect_ok(Overlap::wait(tiles, rows, stream_));
      launch_on(stream_, copy_rows<E>, 1, kThreads, tiles.gathered(), copy, rows, shape.columns);
    }
    join();
  }

 private:
  void join() {
    must(hipEventRecord(ended_, side_), "hipEventRecord");
    must(hipStreamWaitEvent(stream_, ended_, 0), "hipStreamWaitEvent");
  }
  const OwnStream& stream_;
  const OwnStream side_;
  hipEvent_t begun_ = nullptr, ended_ = nullptr;
};

// Each of the two ways, one after the other, back to back and in a graph. The result of a round
// becomes what is gathered, so that one wrong replay shows in the last.
TEST(Overlap, ChunksOnTwoStreamsAndGraphs) {
  using E = meshmem_bfloat16;
  Overlap overlap(SHMEM_TEAM_WORLD, 1 << 18);
  const OwnStream stream;
  Chunks chunks(stream);
  const TiledShape shape{static_cast<std::size_t>(n_pes()) * 7 + 3, 40, 4};
  const std::size_t all = shape.rows * shape.columns;
  GuardedBuffer<E> partial(all, 0), result(all, 0), copy(all, 0), second(all, 0);
  ReduceScatterTiles<E> sums{};
  AllGatherTiles<E> rows{};
  const auto step = [&] {
    chunks.reduce_scatter<E>(overlap, partial, result, shape, 5);
    chunks.all_gather<E>(overlap, result, copy, shape);
    expect_ok(overlap.reduce_scatter<E>(partial, result, shape, stream, &sums));
    launch_on(stream, produce<E>, kBlocks + 2, kThreads, sums, static_cast<E*>(partial),
              Work{2, 0, 5, 6});
    expect_ok(overlap.all_gather<E>(result, shape, stream, &rows));
    launch_on(stream, consume<E>, kBlocks + 2, kThreads, rows, static_cast<E*>(second),
              Work{2, 5, 5, 0});
  };
  const auto expect_results = [&] {
    stream.synchronize();
    for (const auto& [round, found] : {std::pair{5, copy.get()}, std::pair{6, second.get()}}) {
      std::vector<E> expected;
      for (size_t i = 0; i < all; ++i) {
        float sum = 0;
        for (int pe = 0; pe < n_pes(); ++pe) sum += static_cast<float>(element<E>(pe, round, i));
        expected.push_back(E(sum));
      }
      expect_bits(found, expected);
    }
    const std::vector<E> nothing(all, E(0.0F));
    upload<E>(copy, nothing);
    upload<E>(second, nothing);
  };
  for (int i = 0; i < rounds(20); ++i) step();
  expect_results();
  const OwnGraph graph(stream, step);
  for (int i = 0; i < rounds(20); ++i) graph.replay(stream);
  expect_results();
  step();
  expect_results();
}

// Nothing else waits for rows here.
TEST(Overlap, AllRowsAreThereAfterTheCommunicationBlocks) {
  Overlap overlap(SHMEM_TEAM_WORLD, 1 << 18);
  const OwnStream stream;
  const TiledShape shape{static_cast<std::size_t>(n_pes()) * 9, 50, 2};
  const Rows mine{0, 9};
  GuardedBuffer<float> source(9 * shape.columns, 0), copy(shape.rows * shape.columns, 0);
  AllGatherTiles<float> tiles{};
  for (int round = 0; round < 20; ++round) {
    launch_on(stream, produce_rows<float>, 1, kThreads, +source, mine, shape.columns, round);
    expect_ok(overlap.all_gather<float>(source, shape, stream, &tiles));
    expect_ok(Overlap::communicate(tiles, stream));
    launch_on(stream, copy_rows<float>, 1, kThreads, tiles.gathered(), +copy, Rows{0, shape.rows},
              shape.columns);
    stream.synchronize();
    expect_bits(copy.get(), expected_rows<float>(world_view(), tiles, shape.columns, round));
  }
}

TEST(Overlap, WrongArgumentsAreRefusedWithALine) {
  Overlap overlap(SHMEM_TEAM_WORLD, 4096);
  const OwnStream stream;
  GuardedBuffer<float> buffer(1024, 0);
  ReduceScatterTiles<float> sums{};
  AllGatherTiles<float> rows{};
  float* const a = buffer;
  const auto n = static_cast<std::size_t>(n_pes());
  const auto reduce = [&](const float* partial, float* result, TiledShape shape) {
    return std::string(overlap.reduce_scatter(partial, result, shape, stream, &sums).text());
  };
  EXPECT_EQ(reduce(a, a + 512, {8, 8, 0}), "Overlap: a tile has no rows");
  EXPECT_EQ(reduce(a, a + 512, {SIZE_MAX / 2, 1}),
            "Overlap: 9223372036854775807 x 1 elements are more than memory holds");
  EXPECT_EQ(reduce(nullptr, a, {8 * n, 4}), "Overlap: partial is null");
  EXPECT_EQ(reduce(a, nullptr, {8 * n, 4}), "Overlap: result is null");
  EXPECT_EQ(reduce(a, a + 32 * n - 1, {8 * n, 4}), "Overlap: result and partial overlap");
  EXPECT_EQ(reduce(a, a + 1024, {128 * n, 16}),
            "Overlap: " + std::to_string(128 * n) +
                " rows of 64 bytes need more than the 4096 bytes it has");
  const auto* const odd = reinterpret_cast<const float*>(reinterpret_cast<const char*>(a) + 1);
  EXPECT_NE(reduce(odd, a + 512, {8 * n, 4}).find("not aligned to 4 bytes"), std::string::npos);
  const auto* const memory = static_cast<const float*>(overlap.gathered());
  EXPECT_STREQ(overlap.all_gather(memory + 1 + 32 * my_pe(), {8 * n, 4}, stream, &rows).text(),
               "Overlap: mine and gathered() overlap");
  const std::size_t share = 32 * static_cast<std::size_t>(my_pe());
  if (n > 1) {
    EXPECT_EQ(reduce(a, const_cast<float*>(memory) + share + 1, {8 * n, 4}),
              "Overlap: result and gathered() overlap");
  }
  EXPECT_EQ(reduce(memory, a, {8 * n, 4}), "Overlap: gathered() and partial overlap");
  Overlap too_large(SHMEM_TEAM_WORLD, size_t{1} << 50), endless(SHMEM_TEAM_WORLD, SIZE_MAX);
  for (const Overlap* none : {&too_large, &endless})
    EXPECT_NE(std::string(none->status().text()).find("bytes of symmetric device memory"),
              std::string::npos);
  EXPECT_FALSE(too_large.all_gather(a, {8, 4}, stream, &rows).ok());
}

}  // namespace
}  // namespace meshmem
