// SPDX-License-Identifier: Apache-2.0
//
// Reductions and scans in kernels: every operation of every type, by a thread, a wave and a block,
// against the serial model, on several teams, in place and not, in one part and in many. And every
// algorithm, by several blocks, as kernels of the library run them.
// Invariant: all operations of a row of the table run one after another in one kernel, without a
// barrier between them.
#include "../api/reduction_model.hpp"
#include "device/collectives/slices.hpp"
#include "forms.hpp"

namespace meshmem {
namespace {

#define MESHMEM_ROW_ORDER(NAME, TYPE, rma, ...) \
  MESHMEM_CALLS_##rma(Order, MESHMEM_ROWS_ORDER, NAME, TYPE)
#define MESHMEM_ROW_ARITH(NAME, TYPE, rma, ext, amo, bit, arith, ...) \
  MESHMEM_CALLS_##arith(Arith, MESHMEM_ROWS_ARITH, NAME, TYPE)
#define MESHMEM_ROW_LOGIC(NAME, TYPE, rma, ext, amo, bit, arith, logic, ...) \
  MESHMEM_CALLS_##logic(Logic, MESHMEM_ROWS_LOGIC, NAME, TYPE)
MESHMEM_KERNEL_TYPES(MESHMEM_ROW_ORDER, )
MESHMEM_KERNEL_TYPES(MESHMEM_ROW_ARITH, )
MESHMEM_KERNEL_TYPES(MESHMEM_ROW_LOGIC, )

constexpr int kOld = 900;
constexpr size_t kMost = 140000;  // elements of 8 bytes; for all operations of a row together

// An area of dest, with an element before and one after, and one of source for each operation. In
// place, dest and source are one.
template <typename E>
struct ReduceJob {
  E* dest;
  const E* source;
  size_t n;
  int* failures;

  __device__ E* to(size_t i) const { return dest + 1 + i * (n + 2); }
  __device__ const E* from(size_t i) const { return source + 1 + i * (n + 2); }
  __device__ void ended(const Call& call, int failed) const {
    if (failed && leads(call.form)) *failures = failed;
  }
};

template <typename Row>
__global__ void order_kernel(Call call, shmem_team_t team, ReduceJob<typename Row::E> job) {
  if (!takes_part(call.form)) return;
  int failed = Row::max_reduce(call, team, job.to(0), job.from(0), job.n);
  failed |= Row::min_reduce(call, team, job.to(1), job.from(1), job.n);
  job.ended(call, failed);
}
template <typename Row>
__global__ void arith_kernel(Call call, shmem_team_t team, ReduceJob<typename Row::E> job) {
  if (!takes_part(call.form)) return;
  int failed = Row::sum_reduce(call, team, job.to(0), job.from(0), job.n);
  failed |= Row::prod_reduce(call, team, job.to(1), job.from(1), job.n);
  failed |= Row::sum_inscan(call, team, job.to(2), job.from(2), job.n);
  failed |= Row::sum_exscan(call, team, job.to(3), job.from(3), job.n);
  job.ended(call, failed);
}
template <typename Row>
__global__ void logic_kernel(Call call, shmem_team_t team, ReduceJob<typename Row::E> job) {
  if (!takes_part(call.form)) return;
  int failed = Row::and_reduce(call, team, job.to(0), job.from(0), job.n);
  failed |= Row::or_reduce(call, team, job.to(1), job.from(1), job.n);
  failed |= Row::xor_reduce(call, team, job.to(2), job.from(2), job.n);
  job.ended(call, failed);
}

// An operation as the model knows it; a scan ends at a PE of the team.
enum class Extent { kAll, kInclusive, kExclusive };
struct Operation {
  Op op;
  Extent extent;
};

template <typename E>
std::vector<E> result_of(const Operation& operation, const TeamView& view) {
  const auto me = static_cast<size_t>(view.me);
  if (operation.extent == Extent::kAll) return model<E>(operation.op, view, view.size() - 1);
  if (operation.extent == Extent::kInclusive) return model<E>(operation.op, view, me);
  return me == 0 ? std::vector<E>(kPeriod, E(0)) : model<E>(operation.op, view, me - 1);
}

struct Workspace {
  DeviceArray<uint64_t> dest{kMost}, source{kMost};
  DeviceArray<int> failures{1, 0};
};

template <typename E>
using ReduceKernel = void (*)(Call, shmem_team_t, ReduceJob<E>);

// One kernel that has all operations of a row, and what they come to.
template <typename E>
struct RowCheck {
  const char* type;
  ReduceKernel<E> kernel;
  std::vector<Operation> operations;

  // The areas of all operations: `old` values around what contribution or result gives.
  template <typename Period>
  std::vector<E> areas(size_t n, const Period& period_of) const {
    std::vector<E> all = samples<E>(operations.size() * (n + 2), my_pe(), kOld);
    for (size_t i = 0; i < operations.size(); ++i) {
      const std::vector<E> period = period_of(operations[i]);
      for (size_t k = 0; k < n; ++k) all[i * (n + 2) + 1 + k] = period[k % kPeriod];
    }
    return all;
  }

  void run(Workspace& space, const TeamView& view, Form form, size_t n) const {
    SCOPED_TRACE(testing::Message() << type << " by a " << name_of(form) << ", count " << n);
    const auto sources = areas(n, [](const Operation& operation) {
      std::vector<E> mine(kPeriod);
      contribute(operation.op, mine.data(), kPeriod);
      return mine;
    });
    const auto results =
        areas(n, [&](const Operation& operation) { return result_of<E>(operation, view); });
    ASSERT_LE(results.size() * sizeof(E), kMost * sizeof(uint64_t));
    E* dest = reinterpret_cast<E*>(space.dest.data());
    E* source = reinterpret_cast<E*>(space.source.data());
    upload(dest, samples<E>(results.size(), my_pe(), kOld));
    upload(source, sources);
    const Call call{form, SHMEM_CTX_DEFAULT};
    launch(kernel, 1, odd_block(), call, view.team,
           ReduceJob<E>{dest, source, n, space.failures.data()});
    synchronize();
    expect_equal("dest", download(dest, results.size()), results);
    expect_equal("source, which must stay", download(source, sources.size()), sources);
    launch(kernel, 1, odd_block(), call, view.team,
           ReduceJob<E>{source, source, n, space.failures.data()});
    synchronize();
    expect_equal("in place", download(source, results.size()), results);
    EXPECT_EQ(space.failures.first(), 0);
  }
};

template <typename Row>
RowCheck<typename Row::E> order_check() {
  return {Row::type(), order_kernel<Row>, {{Op::kMax, Extent::kAll}, {Op::kMin, Extent::kAll}}};
}
template <typename Row>
RowCheck<typename Row::E> arith_check() {
  return {Row::type(),
          arith_kernel<Row>,
          {{Op::kSum, Extent::kAll},
           {Op::kProd, Extent::kAll},
           {Op::kSum, Extent::kInclusive},
           {Op::kSum, Extent::kExclusive}}};
}
template <typename Row>
RowCheck<typename Row::E> logic_check() {
  return {Row::type(),
          logic_kernel<Row>,
          {{Op::kAnd, Extent::kAll}, {Op::kOr, Extent::kAll}, {Op::kXor, Extent::kAll}}};
}

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

TEST(DeviceReduce, S18_ZeroCountChangesNothingAndStaysMatched) {
  Workspace space;
  on_every_team([&](const TeamView& view) {
    for (const Form form : kGroups) {
      arith_check<Arith_long>().run(space, view, form, 0);
      arith_check<Arith_float>().run(space, view, form, 3);
    }
  });
}

// A row of the first teams has room for 16 KiB of each PE at most: where packets are forced, these take
// several parts.
TEST(DeviceReduce, S57_CountsOfSeveralParts) {
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
constexpr ReduceAlgorithm kAlgorithms[] = {ReduceAlgorithm::one_shot, ReduceAlgorithm::two_shot,
                                           ReduceAlgorithm::recursive_doubling,
                                           ReduceAlgorithm::ring, ReduceAlgorithm::direct,
                                           ReduceAlgorithm::pull};

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
  device::reduce_by<op>(job.algorithm, device::Block(),
                        device::TeamSync(device::slot_of(team), channel), dest + slice.first,
                        source + slice.first, slice.count);
}

// Reductions whose kernels follow each other with nothing in between.
template <device::ReduceOp op, typename E>
void check_sliced(Workspace& space, const TeamView& view, Op model_op,
                  const std::vector<Sliced>& jobs) {
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
    launch(sliced_kernel<op, E>, static_cast<unsigned>(job.blocks), odd_block(), view.team, job,
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

// Parts of a ring among others are up to 150 KiB long; those of teams with short rows 300 bytes.
TEST(DeviceReduce, S57_EveryAlgorithmInSeveralParts) {
  Workspace space;
  const TeamView world = world_view();
  for (const ReduceAlgorithm algorithm : kAlgorithms) {
    const bool is_ring = algorithm == ReduceAlgorithm::ring;
    const size_t count = is_ring ? 50001 : 15001;
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

}  // namespace
}  // namespace meshmem
