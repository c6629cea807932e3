// SPDX-License-Identifier: Apache-2.0
//
// Collectives on streams of teams that take any memory (shmemx_team_take_any_memory): buffers of
// hipMalloc, at other addresses and of other lengths on each PE.
// Invariant: a byte before and one behind each dest stay as they were.
#include <algorithm>
#include <numeric>

#include "own_stream.hpp"

namespace meshmem {
namespace {

// On both sides of the sizes at which packets become lines, and lines several pieces. Packets go in
// short pieces on processors.
std::vector<size_t> sizes() {
#if defined(MESHMEM_TARGET_IS_CPU)
  return {1, 7, 16, 112, 120, 128, 512, 528, 1003, 4096, 20011};
#else
  return {
      1,      7,      120,     1003,    8192,          32768,           32776,           131071,
      262160, 500003, 1 << 20, 4 << 20, (4 << 20) + 8, (15 << 20) + 31, (16 << 20) + 16, 33 << 20};
#endif
}

// An array of hipMalloc that begins `shift` bytes behind an even address.
template <typename E>
class OwnArray {
 public:
  OwnArray(size_t size, size_t shift, const std::vector<E>& values = {}) : size_(size) {
    const size_t unequal = 4096 * static_cast<size_t>(my_pe());
    must(hipMalloc(&memory_, size * sizeof(E) + kEdge + shift + kEdge + unequal), "hipMalloc");
    data_ = reinterpret_cast<E*>(static_cast<char*>(memory_) + kEdge + shift);
    must(hipMemset(memory_, kOld, kEdge + shift + size * sizeof(E) + kEdge), "hipMemset");
    if (!values.empty()) upload(values);
    synchronize();
  }
  ~OwnArray() { must(hipFree(memory_), "hipFree"); }
  OwnArray(const OwnArray&) = delete;
  OwnArray& operator=(const OwnArray&) = delete;

  operator E*() { return data_; }
  void upload(const std::vector<E>& values) { meshmem::upload(data_, values); }
  void expect(const char* what, const std::vector<E>& expected) const {
    expect_equal(what, meshmem::download(data_, size_), expected);
    const auto* bytes = reinterpret_cast<const unsigned char*>(data_);
    EXPECT_EQ(meshmem::download(bytes - 1, 1)[0], kOld) << what << ": before its dest";
    EXPECT_EQ(meshmem::download(bytes + size_ * sizeof(E), 1)[0], kOld)
        << what << ": behind its dest";
  }

 private:
  static constexpr unsigned char kOld = 0xA5;
  static constexpr size_t kEdge = 64;
  void* memory_ = nullptr;
  E* data_ = nullptr;
  size_t size_;
};

// All PEs, in the order of the world or the other way around.
class OwnTeam {
 public:
  explicit OwnTeam(bool reversed) : pes_(static_cast<size_t>(n_pes())) {
    std::iota(pes_.begin(), pes_.end(), 0);
    if (reversed) std::reverse(pes_.begin(), pes_.end());
    EXPECT_EQ(shmemx_team_of_pes(pes_.data(), n_pes(), &team_), 0);
    EXPECT_EQ(shmemx_team_take_any_memory(team_), 0);
    me_ = shmem_team_my_pe(team_);
  }
  ~OwnTeam() { shmem_team_destroy(team_); }
  OwnTeam(const OwnTeam&) = delete;
  OwnTeam& operator=(const OwnTeam&) = delete;

  operator shmem_team_t() const { return team_; }
  size_t me() const { return static_cast<size_t>(me_); }
  size_t n() const { return pes_.size(); }
  int world(size_t pe) const { return pes_[pe]; }

 private:
  std::vector<int> pes_;
  shmem_team_t team_ = SHMEM_TEAM_INVALID;
  int me_ = 0;
};

using Bytes = std::vector<unsigned char>;

Bytes block_of(const Bytes& all, size_t block, size_t n) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(block * n);
  return {begin, begin + static_cast<std::ptrdiff_t>(n)};
}
void append(Bytes& to, const Bytes& more) { to.insert(to.end(), more.begin(), more.end()); }

void check_moves(const OwnTeam& team, const OwnStream& stream, size_t bytes, size_t shift) {
  const size_t n = team.n(), all = n * bytes;
  SCOPED_TRACE(testing::Message() << bytes << " bytes, " << shift << " further");
  const auto sent_by = [&](size_t pe) { return samples<unsigned char>(all, team.world(pe), 1); };
  OwnArray<unsigned char> source(all, shift, sent_by(team.me())), gathered(all, shift),
      swapped(all, 0), first(bytes, shift), last(bytes, 0);
  const int last_pe = static_cast<int>(n) - 1;
  EXPECT_EQ(shmemx_broadcastmem_on_stream(team, first, source, bytes, 0, stream), 0);
  EXPECT_EQ(shmemx_fcollectmem_on_stream(team, gathered, source, bytes, stream), 0);
  EXPECT_EQ(shmemx_alltoallmem_on_stream(team, swapped, source, bytes, stream), 0);
  EXPECT_EQ(shmemx_broadcastmem_on_stream(team, last, source, bytes, last_pe, stream), 0);
  stream.synchronize();
  Bytes of_fcollect, of_alltoall;
  for (size_t pe = 0; pe < n; ++pe) {
    append(of_fcollect, block_of(sent_by(pe), 0, bytes));
    append(of_alltoall, block_of(sent_by(pe), team.me(), bytes));
  }
  first.expect("broadcast from the first", block_of(sent_by(0), 0, bytes));
  gathered.expect("fcollect", of_fcollect);
  swapped.expect("alltoall", of_alltoall);
  last.expect("broadcast from the last", block_of(sent_by(n - 1), 0, bytes));
}

TEST(AnyMemory, BlocksOfAllLengthsMove) {
  const OwnStream stream;
  for (const bool reversed : {false, true}) {
    const OwnTeam team(reversed);
    for (const size_t bytes : sizes())
      for (const size_t shift : {size_t{0}, size_t{3}, size_t{8}})
        if (shift == 0 || bytes <= 1 << 20) check_moves(team, stream, bytes, shift);
  }
}

// Small numbers, whose sums every type holds.
template <typename E>
std::vector<E> numbers(size_t n, int pe) {
  std::vector<E> values(n);
  for (size_t i = 0; i < n; ++i)
    values[i] = static_cast<E>((i * 7 + static_cast<size_t>(pe) * 3) % 11);
  return values;
}
template <typename E>
std::vector<E> sums(const OwnTeam& team, size_t first, size_t n) {
  std::vector<E> total(n);
  for (size_t pe = 0; pe < team.n(); ++pe) {
    const std::vector<E> theirs = numbers<E>(first + n, team.world(pe));
    for (size_t i = 0; i < n; ++i) total[i] = static_cast<E>(total[i] + theirs[first + i]);
  }
  return total;
}

template <typename E>
void check_sums(const OwnTeam& team, const OwnStream& stream, size_t n) {
  SCOPED_TRACE(testing::Message() << n << " elements of " << sizeof(E) << " bytes");
  const std::vector<E> mine = numbers<E>(team.n() * n, my_pe());
  OwnArray<E> source(team.n() * n, 0, mine), sum(n, sizeof(E)), block(n, 0),
      in_place(n, 0, {mine.begin(), mine.begin() + static_cast<std::ptrdiff_t>(n)});
  EXPECT_EQ(shmemx_sum_reduce_on_stream(team, sum, source, n, stream), 0);
  EXPECT_EQ(shmemx_sum_reduce_on_stream(team, in_place, in_place, n, stream), 0);
  EXPECT_EQ(shmemx_sum_reduce_scatter_on_stream(team, block, source, n, stream), 0);
  stream.synchronize();
  sum.expect("sum", sums<E>(team, 0, n));
  in_place.expect("sum in place", sums<E>(team, 0, n));
  block.expect("reduce-scatter", sums<E>(team, team.me() * n, n));
}

template <typename E>
class AnyMemorySums : public testing::Test {};
// Of each length, and of those with and without wide lines.
using Types = testing::Types<signed char, short, int, long, float, double>;
TYPED_TEST_SUITE(AnyMemorySums, Types);

TYPED_TEST(AnyMemorySums, OfAllLengthsAreRight) {
  const OwnStream stream;
  for (const bool reversed : {false, true}) {
    const OwnTeam team(reversed);
    for (const size_t bytes : sizes())
      check_sums<TypeParam>(team, stream, (bytes + sizeof(TypeParam) - 1) / sizeof(TypeParam));
  }
}

// WORLD and SHARED have large slots, and two more teams can have one. In a small slot a kernel
// would move a few bytes only.
TEST(AnyMemory, OnlyTeamsWithALargeSlotTakeIt) {
  const OwnTeam first(false), second(true);
  std::vector<int> all(static_cast<size_t>(n_pes()));
  std::iota(all.begin(), all.end(), 0);
  std::rotate(all.begin(), all.begin() + 1, all.end());
  if (n_pes() < 3) all = {my_pe()};  // these have no third order
  shmem_team_t third = SHMEM_TEAM_INVALID;
  ASSERT_EQ(shmemx_team_of_pes(all.data(), static_cast<int>(all.size()), &third), 0);
  EXPECT_NE(shmemx_team_take_any_memory(third), 0);
  shmem_team_destroy(third);
}

// Calls that follow each other without a pause, with other values each time.
TEST(AnyMemory, GraphsReplayThem) {
  const OwnStream stream;
  const OwnTeam team(false);
  constexpr size_t kElems = 3000;
  constexpr int kReplays = 5;
  OwnArray<int> values(kElems, 0), sum(kElems, 0), all(team.n() * kElems, 0);
  const OwnGraph graph(stream, [&] {
    shmemx_sum_reduce_on_stream(team, sum, values, kElems, stream);
    shmemx_fcollectmem_on_stream(team, all, sum, kElems * sizeof(int), stream);
    shmemx_broadcastmem_on_stream(team, values, sum, kElems * sizeof(int), 0, stream);
  });
  std::vector<int> expected = numbers<int>(kElems, my_pe());
  values.upload(expected);
  expected = sums<int>(team, 0, kElems);
  for (int i = 0; i < kReplays; ++i) graph.replay(stream);
  stream.synchronize();
  for (int& value : expected)
    for (int i = 1; i < kReplays; ++i) value *= static_cast<int>(team.n());
  values.expect("broadcast", expected);
  sum.expect("sum", expected);
  std::vector<int> repeated;
  for (size_t pe = 0; pe < team.n(); ++pe)
    repeated.insert(repeated.end(), expected.begin(), expected.end());
  all.expect("fcollect", repeated);
}

}  // namespace
}  // namespace meshmem
