// SPDX-License-Identifier: Apache-2.0
//
// Teams with a fixed order of reductions (shmemx_team_fix_reduce_order): the bits are those of PE
// order. The host, streams, every group of kernels and grids call with every count, at every place.
// Rows of tests/device/CMakeLists.txt run this by every algorithm, and over several machines.
// Invariant: the sums of what PEs bring depend on the order.
#include <cmath>
#include <cstring>

#include "../api/team_views.hpp"
#include "forms.hpp"
#include "own_stream.hpp"

namespace meshmem {
namespace {

template <typename E>
constexpr bool kIsShort = std::is_same_v<E, meshmem_half> || std::is_same_v<E, meshmem_bfloat16>;

// The type in which elements are combined before they are rounded once.
template <typename E>
using Wide = std::conditional_t<kIsShort<E>, float, E>;

constexpr size_t kBlocks = 8;   // of a source at least
constexpr size_t kMost = 9001;  // more than leaders take, also of half

enum class Kind { sum, average, product };

// Element i of what a PE brings to a sum. A large one is cancelled by others of the other sign. A
// small one loses its last bits beside a large one. W, in which numbers are added, has `wide_bits`
// bits of fraction, and the number fits into `bits` of them.
template <typename W>
W small_or_large(int pe, size_t i, int bits, int wide_bits) {
  const uint64_t random = scramble(seed_of(pe, i));
  const W large = static_cast<W>(uint64_t{3} << (wide_bits - bits));
  if (random % 4 == 0) return large;
  if (random % 4 == 1) return -large;
  const uint64_t most = uint64_t{1} << bits;
  return static_cast<W>((random >> 8) % most) / static_cast<W>(most << 4);
}

template <typename E>
Wide<E> brought(Kind kind, int pe, size_t i) {
  using W = Wide<E>;
  constexpr int kWideBits = std::is_same_v<W, double> ? 52 : 23;
  constexpr int kBits = std::is_same_v<E, meshmem_half>       ? 10
                        : std::is_same_v<E, meshmem_bfloat16> ? 7
                                                              : kWideBits;
  if (kind != Kind::product) return small_or_large<W>(pe, i, kBits, kWideBits);
  const uint64_t most = uint64_t{1} << kBits;
  return 1 + static_cast<W>(scramble(seed_of(pe, i)) % most) / static_cast<W>(most);
}

template <typename E>
E rounded(Wide<E> value) {
  return static_cast<E>(value);
}

// The reduction of element i of n PEs; pe_of(k) is the world number of PE k.
template <typename E, typename PeOf>
Wide<E> total_of(Kind kind, size_t n, const PeOf& pe_of, size_t i) {
  using W = Wide<E>;
  W total = brought<E>(kind, pe_of(0), i);
  for (size_t k = 1; k < n; ++k) {
    const W next = brought<E>(kind, pe_of(k), i);
    total = kind == Kind::product ? total * next : total + next;
  }
  return kind == Kind::average ? total / static_cast<W>(n) : total;
}

// A routine by a group, by a grid, on a stream, and for calls of the host; `thread` is its name for
// types of the standard.
#define MESHMEM_ORDERED(op, thread, kind_of_op, scatters)                                          \
  struct op {                                                                                      \
    static constexpr Kind kKind = Kind::kind_of_op;                                                \
    static constexpr bool kScatters = scatters;                                                    \
    static const char* name() { return #op; }                                                      \
    template <typename E>                                                                          \
    static __device__ __attribute__((noinline)) int by_group(Form form, shmem_team_t team,         \
                                                             E* dest, const E* source, size_t n) { \
      if (form == Form::kWave) return shmemx_##op##_wave(team, dest, source, n);                   \
      if (form == Form::kBlock) return shmemx_##op##_block(team, dest, source, n);                 \
      if constexpr (kIsShort<E>)                                                                   \
        return shmemx_##op(team, dest, source, n);                                                 \
      else                                                                                         \
        return thread(team, dest, source, n);                                                      \
    }                                                                                              \
    template <typename E>                                                                          \
    static __device__ __attribute__((noinline)) int by_grid(shmem_team_t team, E* dest,            \
                                                            const E* source, size_t n) {           \
      return shmemx_##op##_grid(team, dest, source, n);                                            \
    }                                                                                              \
    template <typename E>                                                                          \
    static int by_host(shmem_team_t team, E* dest, const E* source, size_t n) {                    \
      return thread(team, dest, source, n);                                                        \
    }                                                                                              \
    template <typename E>                                                                          \
    static int on_stream(shmem_team_t team, E* dest, const E* source, size_t n,                    \
                         hipStream_t stream) {                                                     \
      if constexpr (std::is_same_v<E, meshmem_half>)                                               \
        return shmemx_half_##op##_on_stream(team, dest, source, n, stream);                        \
      else if constexpr (std::is_same_v<E, meshmem_bfloat16>)                                      \
        return shmemx_bfloat16_##op##_on_stream(team, dest, source, n, stream);                    \
      else                                                                                         \
        return shmemx_##op##_on_stream(team, dest, source, n, stream);                             \
    }                                                                                              \
  };
MESHMEM_ORDERED(sum_reduce, shmem_sum_reduce, sum, false)
MESHMEM_ORDERED(prod_reduce, shmem_prod_reduce, product, false)
MESHMEM_ORDERED(avg_reduce, shmemx_avg_reduce, average, false)
MESHMEM_ORDERED(sum_reduce_scatter, shmemx_sum_reduce_scatter, sum, true)
MESHMEM_ORDERED(avg_reduce_scatter, shmemx_avg_reduce_scatter, average, true)

template <typename Routine, typename E>
__global__ void group_kernel(Form form, shmem_team_t team, E* dest, const E* source, size_t n,
                             int* failures) {
  if (!takes_part(form)) return;
  if (Routine::by_group(form, team, dest, source, n) != 0 && leads(form)) *failures = 1;
}
template <typename Routine, typename E>
__global__ void grid_kernel(shmem_team_t team, E* dest, const E* source, size_t n, int* failures) {
  if (Routine::by_grid(team, dest, source, n) != 0) *failures = 1;
}

// A team of this test, with a fixed order.
class FixedTeam {
 public:
  explicit FixedTeam(const TeamView& view) : view_(view) {
    EXPECT_EQ(shmemx_team_fix_reduce_order(view.team), 0);
  }
  const TeamView& view() const { return view_; }
  int pe(size_t k) const { return view_.world(k); }

 private:
  const TeamView view_;
};

template <typename E>
struct Buffers {
  static constexpr size_t kElems = kMost + 32;
  DeviceArray<E> dest{kElems}, source{kBlocks * kElems};
  E* host_dest = static_cast<E*>(shmem_malloc(kElems * sizeof(E)));
  E* host_source = static_cast<E*>(shmem_malloc(kBlocks * kElems * sizeof(E)));
  DeviceArray<int> failures{1, 0};
  OwnStream stream;

  Buffers() = default;
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  ~Buffers() {
    shmem_free(host_source);
    shmem_free(host_dest);
  }
};

// One call: where, of how many elements, how far from where 16 bytes are even.
struct Place {
  size_t n, dest_shift, source_shift;
  bool in_place;
};

// Runs one routine at one place by every caller, and compares each result with the model.
template <typename Routine, typename E>
class Comparison {
 public:
  Comparison(Buffers<E>& buffers, const TeamView& view, const Place& place)
      : buffers_(buffers), view_(view), place_(place) {
    const size_t blocks = Routine::kScatters ? view.size() : 1;
    mine_ = Routine::kScatters ? static_cast<size_t>(view.me) * place.n : 0;
    for (size_t i = 0; i < blocks * place.n; ++i)
      source_.push_back(rounded<E>(brought<E>(Routine::kKind, view.world(view.me), i)));
    for (size_t i = 0; i < place.n; ++i)
      expected_.push_back(rounded<E>(total_of<E>(
          Routine::kKind, view.size(), [&](size_t k) { return view.world(k); }, mine_ + i)));
  }

  void run() {
    SCOPED_TRACE(testing::Message()
                 << Routine::name() << " of " << place_.n << " elements of " << sizeof(E)
                 << " bytes at " << place_.dest_shift << " from " << place_.source_shift
                 << (place_.in_place ? ", in place" : ""));
    if constexpr (!kIsShort<E>) {
      E* const source = buffers_.host_source + place_.source_shift;
      E* const dest = place_.in_place ? source + mine_ : buffers_.host_dest + place_.dest_shift;
      std::copy(source_.begin(), source_.end(), source);
      shmem_team_sync(view_.team);
      EXPECT_EQ(Routine::by_host(view_.team, dest, source, place_.n), 0);
      compare("the host, in host memory", std::vector<E>(dest, dest + place_.n));
      on_device("the host", [&](E* to, const E* from) {
        EXPECT_EQ(Routine::by_host(view_.team, to, from, place_.n), 0);
      });
    }
    on_device("a stream", [&](E* to, const E* from) {
      EXPECT_EQ(Routine::on_stream(view_.team, to, from, place_.n, buffers_.stream), 0);
    });
    for (const Form form : kGroups) {
      on_device(name_of(form), [&](E* to, const E* from) {
        launch(group_kernel<Routine, E>, 1, odd_block(), form, view_.team, to, from, place_.n,
               buffers_.failures.data());
      });
    }
    for (const unsigned blocks : {1, 3}) {
      on_device("a grid", [&](E* to, const E* from) {
        launch_grid_on(nullptr, grid_kernel<Routine, E>, dim3(blocks), odd_block(), view_.team, to,
                       from, place_.n, buffers_.failures.data());
      });
    }
    EXPECT_EQ(buffers_.failures.first(), 0);
  }

 private:
  template <typename Run>
  void on_device(const char* caller, const Run& run) {
    E* const source = buffers_.source.data() + place_.source_shift;
    E* const dest = place_.in_place ? source + mine_ : buffers_.dest.data() + place_.dest_shift;
    upload(source, source_);
    shmem_team_sync(view_.team);
    run(dest, source);
    synchronize();
    buffers_.stream.synchronize();
    compare(caller, download(dest, place_.n));
  }
  void compare(const char* caller, const std::vector<E>& found) const {
    for (size_t i = 0; i < place_.n; ++i) {
      if (std::memcmp(&found[i], &expected_[i], sizeof(E)) == 0) continue;
      ADD_FAILURE() << "by " << caller << ": element " << i << " is "
                    << static_cast<double>(found[i]) << " and not "
                    << static_cast<double>(expected_[i]);
      return;
    }
  }

  Buffers<E>& buffers_;
  const TeamView& view_;
  const Place place_;
  size_t mine_ = 0;  // where this PE's block of the source begins
  std::vector<E> source_, expected_;
};

// Other places in turn, so that all routines together see all of them.
constexpr Place kPlaces[] = {{1, 0, 0, false},    {2, 1, 0, false},   {3, 0, 1, true},
                             {17, 3, 3, false},   {64, 0, 0, true},   {257, 1, 2, false},
                             {600, 0, 3, false},  {1023, 2, 2, true}, {4099, 1, 1, false},
                             {4096, 0, 0, false}, {9001, 2, 0, false}};

template <typename E>
void check_type(const TeamView& view, size_t& turn) {
  Buffers<E> buffers;
  const auto check = [&](auto routine) {
    using Routine = decltype(routine);
    for (int i = 0; i < 3; ++i, ++turn) {
      Place place = kPlaces[turn % std::size(kPlaces)];
      if (Routine::kScatters) place.n = place.n * kBlocks / std::max(view.size(), kBlocks);
      Comparison<Routine, E>(buffers, view, place).run();
    }
  };
  check(sum_reduce());
  check(prod_reduce());
  check(avg_reduce());
  check(sum_reduce_scatter());
  check(avg_reduce_scatter());
}

void check_all_types(const TeamView& view) {
  size_t turn = 0;
  check_type<float>(view, turn);
  check_type<double>(view, turn);
  check_type<meshmem_half>(view, turn);
  check_type<meshmem_bfloat16>(view, turn);
}

TEST(ReduceOrder, AllCallersGetTheBitsOfPeOrder) {
  const FixedTeam team(make_view(0, 1, n_pes()));
  check_all_types(team.view());
  shmem_team_destroy(team.view().team);
}

// All PEs, those of even numbers first: machines take turns in such a team.
TeamView make_mixed_view() {
  TeamView view{SHMEM_TEAM_INVALID, -1, {}};
  for (const int first : {0, 1})
    for (int pe = first; pe < n_pes(); pe += 2) view.pes.push_back(pe);
  EXPECT_EQ(shmemx_team_of_pes(view.pes.data(), n_pes(), &view.team), 0);
  view.me = shmem_team_my_pe(view.team);
  return view;
}

TEST(ReduceOrder, TheOrderFollowsTheNumbersInTheTeam) {
  for (const TeamView& view : {make_view(n_pes() - 1, -1, n_pes()), make_mixed_view()}) {
    const FixedTeam team(view);
    size_t turn = 1;
    check_type<float>(view, turn);
    check_type<meshmem_half>(view, turn);
    shmem_barrier_all();
    shmem_team_destroy(view.team);
  }
}

TEST(ReduceOrder, HoldsForAnyMemory) {
  const FixedTeam team(make_view(0, 1, n_pes()));
  const bool takes_any = shmemx_team_take_any_memory(team.view().team) == 0;
  size_t turn = 2;
  if (takes_any) check_type<float>(team.view(), turn);
  if (takes_any) check_type<meshmem_half>(team.view(), turn);
  shmem_team_destroy(team.view().team);
  if (!takes_any) GTEST_SKIP() << "the team takes symmetric memory only";
}

// Whether teams of all PEs whose order is not fixed combine in an order that the bits show: first
// the PEs of each machine.
bool has_node_order() {
  return n_pes() >= 4 && is_far_pe_there() && shmem_team_n_pes(SHMEM_TEAM_SHARED) > 1;
}

TEST(ReduceOrder, OneTeamMayBeFixedAndItsParentFree) {
  const TeamView view = make_view(0, 1, n_pes());
  const FixedTeam child(view);
  shmem_team_t grandchild = SHMEM_TEAM_INVALID;
  ASSERT_EQ(shmem_team_split_strided(view.team, 0, 1, n_pes(), nullptr, 0, &grandchild), 0);
  static double dest[kMost], source[kMost];
  std::vector<double> in_order;
  for (size_t i = 0; i < kMost; ++i) {
    source[i] = brought<double>(Kind::sum, my_pe(), i);
    in_order.push_back(total_of<double>(
        Kind::sum, view.size(), [&](size_t k) { return view.world(k); }, i));
  }
  const auto sum_of = [](shmem_team_t team) {
    EXPECT_EQ(shmem_double_sum_reduce(team, dest, source, kMost), 0);
    return std::vector<double>(dest, dest + kMost);
  };
  expect_equal("the fixed team", sum_of(view.team), in_order);
  for (const shmem_team_t free : {SHMEM_TEAM_WORLD, grandchild}) {
    const std::vector<double> sum = sum_of(free);
    if (has_node_order()) {
      EXPECT_NE(sum, in_order);
    }
  }
  shmem_team_destroy(grandchild);
  shmem_team_destroy(view.team);
}

TEST(ReduceOrder, AnInvalidTeamIsRefused) {
  EXPECT_NE(shmemx_team_fix_reduce_order(SHMEM_TEAM_INVALID), 0);
}

// The model would agree with any order if the numbers did not show it.
template <typename E>
void expect_order_shows() {
  using W = Wide<E>;
  const auto count_differences = [](size_t n) {
    size_t differences = 0;
    for (size_t i = 0; i < kMost; ++i) {
      const E total = rounded<E>(total_of<E>(
          Kind::sum, n, [](size_t k) { return static_cast<int>(k); }, i));
      const E other = rounded<E>(total_of<E>(
          Kind::sum, n, [n](size_t k) { return static_cast<int>((k + n - 1) % n); }, i));
      if (std::memcmp(&total, &other, sizeof(E)) != 0) ++differences;
    }
    return differences;
  };
  EXPECT_GT(count_differences(3), kMost / 20);
  EXPECT_GT(count_differences(5), kMost / 20);
  for (size_t i = 0; i < kMost; ++i) {
    const W value = brought<E>(Kind::sum, my_pe(), i);
    ASSERT_EQ(static_cast<W>(rounded<E>(value)), value) << "rounded already";
  }
}
TEST(ReduceOrder, TheNumbersShowTheOrder) {
  expect_order_shows<float>();
  expect_order_shows<double>();
  expect_order_shows<meshmem_half>();
  expect_order_shows<meshmem_bfloat16>();
}

// Over several machines the first order is that of the machines.
TEST(ReduceOrder, AGraphKeepsTheOrderThatItWasCapturedWith) {
  const TeamView view = make_view(0, 1, n_pes());
  const OwnStream stream;
  std::vector<double> mine, expected;
  for (size_t i = 0; i < kMost; ++i) {
    mine.push_back(brought<double>(Kind::sum, my_pe(), i));
    expected.push_back(total_of<double>(
        Kind::sum, view.size(), [&](size_t k) { return view.world(k); }, i));
  }
  DeviceArray<double> source(mine), dest(kMost);
  const auto put = [&] {
    EXPECT_EQ(shmemx_sum_reduce_on_stream(view.team, dest.data(), source.data(), kMost, stream), 0);
  };
  const auto result_of = [&](const OwnGraph& graph) {
    graph.replay(stream);
    stream.synchronize();
    return dest.download();
  };
  shmem_barrier_all();
  const OwnGraph early(stream, put);
  const std::vector<double> before = result_of(early);
  EXPECT_EQ(shmemx_team_fix_reduce_order(view.team), 0);
  const OwnGraph late(stream, put);
  expect_equal("the late graph", result_of(late), expected);
  expect_equal("the early graph", result_of(early), before);
  if (has_node_order()) {
    EXPECT_NE(before, expected);
  }
  shmem_team_destroy(view.team);
}

}  // namespace
}  // namespace meshmem
