// SPDX-License-Identifier: Apache-2.0
//
// Reductions and scans in kernels: every operation of every type, by a thread, a wave and a block,
// against the serial model, on several teams, in place and not, in one part and in many.
// Invariant: all operations of a row of the table run one after another in one kernel, without a
// barrier between them.
#include "../api/reduction_model.hpp"
#include "forms.hpp"

namespace meshmem {
namespace {

#define MESHMEM_ROW_ORDER(NAME, TYPE, rma, ...) \
  MESHMEM_IN_##rma(MESHMEM_CALLS(Order, MESHMEM_ROWS_ORDER, NAME, NAME##_, , TYPE, TYPE))
#define MESHMEM_ROW_ARITH(NAME, TYPE, rma, ext, amo, bit, arith, ...) \
  MESHMEM_IN_##arith(MESHMEM_CALLS(Arith, MESHMEM_ROWS_ARITH, NAME, NAME##_, , TYPE, TYPE))
#define MESHMEM_ROW_LOGIC(NAME, TYPE, rma, ext, amo, bit, arith, logic, ...) \
  MESHMEM_IN_##logic(MESHMEM_CALLS(Logic, MESHMEM_ROWS_LOGIC, NAME, NAME##_, , TYPE, TYPE))
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

// The stage of the first teams holds 32768 words of 4 bytes of each PE at most; so these take several
// parts.
TEST(DeviceReduce, S57_CountsOfSeveralParts) {
  Workspace space;
  const TeamView world = world_view();
  order_check<Order_float>().run(space, world, Form::kBlock, 66001);
  order_check<Order_double>().run(space, world, Form::kBlock, 33001);
  logic_check<Logic_uchar>().run(space, world, Form::kBlock, 140001);
}

// Teams made late have a small stage.
TEST(DeviceReduce, S57_TeamsWithSmallStagesTakeManyParts) {
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

}  // namespace
}  // namespace meshmem
