// SPDX-License-Identifier: Apache-2.0
//
// Reductions and scans in kernels. Every operation of every type is compared with the serial model,
// by each group, on several teams, in place and not, in one chunk and in many. Floating-point
// numbers with fractions are compared with a reference in double. Also every algorithm, by several
// blocks, as kernels of the library run them.
// Invariant: all operations of a row of the table run one after another in one kernel, without a
// barrier between them.
#include "device/collectives/slices.hpp"
#include "reduce_by_any.hpp"
#include "reduction_rows.hpp"

namespace meshmem {
namespace {

template <typename Visit>
void for_each_row(const Visit& visit) {
#define MESHMEM_VISIT_ROW(NAME, TYPE, rma, ext, amo, bit, arith, logic, ...) \
  MESHMEM_IN_##rma(visit(order_check<Order_##NAME>());)                      \
      MESHMEM_IN_##arith(visit(arith_check<Arith_##NAME>());)                \
          MESHMEM_IN_##logic(visit(logic_check<Logic_##NAME>());)
  MESHMEM_KERNEL_TYPES(MESHMEM_VISIT_ROW, )
#undef MESHMEM_VISIT_ROW
}

TEST(DeviceReduce, S53_S57_EveryTypeByEveryGroup) {
  Workspace space;
  const TeamView world = world_view();
  for_each_row([&](const auto& row) {
    for (const Form form : kGroups) row.run(space, world, form, 13);
  });
}

TEST(DeviceReduce, S53_S57_EveryTypeOnEveryTeam) {
  Workspace space;
  on_every_team([&](const TeamView& view) {
    size_t turn = 0;
    for_each_row([&](const auto& row) {
      ++turn;
      row.run(space, view, kGroups[turn % 3], 1 + turn % 7);
    });
  });
}

// Sums and products that are rounded.
TEST(DeviceReduce, S57_FractionsByEveryGroup) {
  const uint64_t seed = agreed_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed << " (MESHMEM_TEST_SEED repeats it)");
  Workspace space;
  on_every_team([&](const TeamView& view) {
    for (const Form form : kGroups) {
      order_check<Order_float>().run_fractions(space, view, form, 257, seed);
      order_check<Order_double>().run_fractions(space, view, form, 257, seed);
      arith_check<Arith_float>().run_fractions(space, view, form, 257, seed);
      arith_check<Arith_double>().run_fractions(space, view, form, 257, seed);
    }
  });
}

TEST(DeviceReduce, S18_ZeroCountChangesNothingAndStaysMatched) {
  Workspace space;
  on_every_team([&](const TeamView& view) {
    for (const Form form : kGroups) {
      arith_check<Arith_long>().run(space, view, form, 0);
      arith_check<Arith_float>().run(space, view, form, 3);
    }
  });
}

// A row of the first teams has room for 16 KiB of each PE at most: where packets are forced, these
// take several batches.
TEST(DeviceReduce, S57_CountsOfSeveralBatches) {
  Workspace space;
  const TeamView world = world_view();
  order_check<Order_float>().run(space, world, Form::kBlock, 66001);
  order_check<Order_double>().run(space, world, Form::kBlock, 33001);
  logic_check<Logic_uchar>().run(space, world, Form::kBlock, 140001);
}

// Teams made late have short rows.
TEST(DeviceReduce, S57_TeamsWithShortRowsTakeManyParts) {
  Workspace space;
  std::vector<TeamView> views;
  for (int i = 0; i < 18; ++i) views.push_back(make_view(n_pes() - 1, -1, n_pes()));
  for (const Form form : kGroups) {
    arith_check<Arith_float>().run(space, views.back(), form, 700);
    order_check<Order_longlong>().run(space, views.back(), form, 65);
    logic_check<Logic_ushort>().run(space, views.back(), form, 257);
  }
  for (const TeamView& view : views) shmem_team_destroy(view.team);
}

// ---- Every algorithm, by several blocks

using device::ReduceAlgorithm;
// Those that groups of any shape can run: wide lines take whole waves.
const std::vector<ReduceAlgorithm> kAlgorithms = [] {
  std::vector<ReduceAlgorithm> algorithms;
  for (int i = 0; i < device::kReduceAlgorithmCount; ++i) {
    const device::ReduceKernel kernel = device::kReduceAlgorithms[i].kernel;
    if (kernel == device::ReduceKernel::packets || kernel == device::ReduceKernel::large)
      algorithms.push_back(static_cast<ReduceAlgorithm>(i));
  }
  return algorithms;
}();

// A reduction among others; `shift` elements from where 16 bytes are even.
struct Sliced {
  ReduceAlgorithm algorithm;
  int blocks;
  size_t count, shift;
  bool in_place;
};

template <device::ReduceOp op, typename E>
__global__ void sliced_kernel(shmem_team_t team, Sliced job, E* dest, const E* source) {
  const auto channel = static_cast<int>(blockIdx.x);
  const device::Slice slice = device::slice_of<E>(job.count, channel, static_cast<int>(gridDim.x));
  device::reduce_by_any(device::StaticOp<op>(), job.algorithm, device::Block(),
                        device::TeamSync(device::slot_of(team), channel), dest + slice.first,
                        source + slice.first, slice.count);
}

// Reductions whose kernels follow each other with nothing in between.
template <device::ReduceOp op, typename E>
void check_sliced(Workspace& space, const TeamView& view, Op model_op,
                  const std::vector<Sliced>& jobs, unsigned threads = odd_block()) {
  constexpr size_t kEven = 16 / sizeof(E);
  const auto place = [&](const Sliced& job) { return (job.count / kEven + 2) * kEven + kEven; };
  size_t size = 0;
  for (const Sliced& job : jobs) size += place(job);
  ASSERT_LE(size * sizeof(E), kMost * sizeof(uint64_t));
  std::vector<E> source = samples<E>(size, my_pe(), kOld + 1),
                 dest = samples<E>(size, my_pe(), kOld);
  std::vector<E> source_after = source, dest_after = dest, mine(kPeriod);
  const std::vector<E> period = model<E>(model_op, view, view.size() - 1);
  contribute(model_op, mine.data(), kPeriod);
  size_t at = 0;
  for (const Sliced& job : jobs) {
    for (size_t k = 0; k < job.count; ++k) {
      const size_t i = at + job.shift + k;
      source[i] = source_after[i] = mine[k % kPeriod];
      (job.in_place ? source_after : dest_after)[i] = period[k % kPeriod];
    }
    at += place(job);
  }
  E* to = reinterpret_cast<E*>(space.dest.data());
  E* from = reinterpret_cast<E*>(space.source.data());
  upload(to, dest);
  upload(from, source);
  at = 0;
  for (const Sliced& job : jobs) {
    E* start = from + at + job.shift;
    launch(sliced_kernel<op, E>, static_cast<unsigned>(job.blocks), threads, view.team, job,
           job.in_place ? start : to + at + job.shift, start);
    at += place(job);
  }
  synchronize();
  expect_equal("dest", download(to, size), dest_after);
  expect_equal("source", download(from, size), source_after);
}

// All counts that are special, by turns in place, shifted, and by other numbers of blocks.
std::vector<Sliced> special_jobs(const TeamView& view, size_t most_blocks) {
  std::vector<Sliced> jobs;
  const size_t n = view.size();
  for (const size_t count :
       {size_t{1}, size_t{2}, n - 1, n, n + 1, size_t{0}, size_t{61}, size_t{777}}) {
    for (const ReduceAlgorithm algorithm : kAlgorithms) {
      const size_t turn = jobs.size() + count;
      jobs.push_back({algorithm, static_cast<int>(1 + turn % most_blocks), count, turn % 3,
                      turn / 3 % 2 == 0});
    }
  }
  return jobs;
}

void check_every_algorithm(Workspace& space, const TeamView& view, size_t most_blocks) {
  using device::ReduceOp;
  const std::vector<Sliced> jobs = special_jobs(view, most_blocks);
  check_sliced<ReduceOp::sum, float>(space, view, Op::kSum, jobs);
  check_sliced<ReduceOp::prod, uint16_t>(space, view, Op::kProd, jobs);
  check_sliced<ReduceOp::min, int64_t>(space, view, Op::kMin, jobs);
  check_sliced<ReduceOp::bit_xor, uint8_t>(space, view, Op::kXor, jobs);
}

TEST(DeviceReduce, S57_EveryAlgorithmOnEveryTeam) {
  Workspace space;
  on_every_team([&](const TeamView& view) { check_every_algorithm(space, view, 4); });
}

// Sums that are rounded: the order in which they are added shows.
TEST(DeviceReduce, S57_AllPesGetTheSameBitsOfPeOrderWhereThatIsPromised) {
  const size_t n = 1000;
  const auto brought = [](int pe, size_t i) {
    return 1.0f / static_cast<float>(3 + 7 * pe + static_cast<int>(i % 97));
  };
  std::vector<float> mine(n), in_pe_order(n);
  for (size_t i = 0; i < n; ++i) {
    mine[i] = in_pe_order[i] = brought(0, i);
    for (int pe = 1; pe < n_pes(); ++pe) in_pe_order[i] += brought(pe, i);
    mine[i] = brought(my_pe(), i);
  }
  DeviceArray<float> source(mine), dest(n), all(n * static_cast<size_t>(n_pes()));
  for (const ReduceAlgorithm algorithm : kAlgorithms) {
    SCOPED_TRACE(static_cast<int>(algorithm));
    launch(sliced_kernel<device::ReduceOp::sum, float>, 3, odd_block(), SHMEM_TEAM_WORLD,
           Sliced{algorithm, 3, n, 0, false}, dest.data(), source.data());
    synchronize();
    const bool is_promised =
        algorithm == ReduceAlgorithm::one_shot || algorithm == ReduceAlgorithm::two_shot;
    if (is_promised) expect_equal("dest", dest.download(), in_pe_order);
    ASSERT_EQ(shmem_float_fcollect(SHMEM_TEAM_WORLD, all.data(), dest.data(), n), 0);
    const std::vector<float> results = all.download();
    for (size_t i = 0; i < results.size(); ++i) ASSERT_EQ(results[i], results[i % n]) << i;
  }
}

// More elements than a ring takes at once, or direct sends before it comes back to its first slots.
// That is up to 342 KiB, by 4 PEs, and less than 300 bytes on teams with short rows.
constexpr size_t kSeveralBatches = 90001;

TEST(DeviceReduce, S57_EveryAlgorithmInSeveralBatches) {
  Workspace space;
  const TeamView world = world_view();
  for (const ReduceAlgorithm algorithm : kAlgorithms) {
    const bool is_ring = algorithm == ReduceAlgorithm::ring;
    const size_t count = is_ring || algorithm == ReduceAlgorithm::direct ? kSeveralBatches : 15001;
    check_sliced<device::ReduceOp::sum, float>(space, world, Op::kSum,
                                               {{algorithm, 1, count, 0, is_ring},
                                                {algorithm, 1, count, 1, !is_ring},
                                                {algorithm, 2, 20001, 3, true}});
  }
  std::vector<TeamView> views;
  for (int i = 0; i < 18; ++i) views.push_back(make_view(n_pes() - 1, -1, n_pes()));
  check_every_algorithm(space, views.back(), 1);
  for (const TeamView& view : views) shmem_team_destroy(view.team);
}

// A wave of its own announces; and chunks of one piece and of two, shares of one chunk and of
// several.
TEST(DeviceReduce, S57_RingAndDirectByManyWaves) {
  Workspace space;
  for (const ReduceAlgorithm algorithm : {ReduceAlgorithm::ring, ReduceAlgorithm::direct}) {
    for (const size_t count : {size_t{777}, kSeveralBatches})
      check_sliced<device::ReduceOp::sum, float>(space, world_view(), Op::kSum,
                                                 {{algorithm, 1, count, 0, false},
                                                  {algorithm, 1, count, 1, true},
                                                  {algorithm, 2, count, 0, true}},
                                                 4 * wave_size());
  }
}

}  // namespace
}  // namespace meshmem
