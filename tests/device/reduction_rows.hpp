// SPDX-License-Identifier: Apache-2.0
//
// Runs all reductions and scans that a type has, a row of ops.h in one kernel. Checks their
// results, by a group on a team, into other areas and in place.
// Invariant: all operations of a row of the table run one after another in one kernel, without a
// barrier between them. An area has an element before and one after that stay.
#ifndef MESHMEM_TESTS_DEVICE_REDUCTION_ROWS_HPP
#define MESHMEM_TESTS_DEVICE_REDUCTION_ROWS_HPP

#include "drawn_values.hpp"
#include "forms.hpp"

namespace meshmem {

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
struct RowOperation {
  Op op;
  Extent extent;
};

template <typename E>
std::vector<E> result_of(const RowOperation& operation, const TeamView& view) {
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

// One kernel that has all operations of a row, and their results.
template <typename E>
struct RowCheck {
  const char* type;
  ReduceKernel<E> kernel;
  std::vector<RowOperation> operations;

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
    const auto sources = areas(n, [](const RowOperation& operation) {
      std::vector<E> mine(kPeriod);
      contribute(operation.op, mine.data(), kPeriod);
      return mine;
    });
    const auto results =
        areas(n, [&](const RowOperation& operation) { return result_of<E>(operation, view); });
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

  // The same with random fractions; all that no result is written to is poison.
  void run_fractions(Workspace& space, const TeamView& view, Form form, size_t n,
                     uint64_t number) const {
    SCOPED_TRACE(testing::Message() << type << " by a " << name_of(form));
    std::vector<E> poison(operations.size() * (n + 2));
    std::memset(poison.data(), kPoison, poison.size() * sizeof(E));
    std::vector<E> sources = poison;
    for (size_t i = 0; i < operations.size(); ++i) {
      for (size_t k = 0; k < n; ++k)
        sources[i * (n + 2) + 1 + k] = drawn<E>(operation_of(operations[i].op), number, view.me, k);
    }
    E* dest = reinterpret_cast<E*>(space.dest.data());
    E* source = reinterpret_cast<E*>(space.source.data());
    upload(dest, poison);
    upload(source, sources);
    for (E* to : {dest, source}) {
      launch(kernel, 1, odd_block(), Call{form, SHMEM_CTX_DEFAULT}, view.team,
             ReduceJob<E>{to, source, n, space.failures.data()});
      synchronize();
      expect_fractions(download(to, poison.size()), view, n, number);
    }
  }
  void expect_fractions(const std::vector<E>& found, const TeamView& view, size_t n,
                        uint64_t number) const {
    for (size_t at = 0; at < found.size(); ++at) {
      const RowOperation& operation = operations[at / (n + 2)];
      const size_t k = at % (n + 2);
      const int last = operation.extent == Extent::kAll         ? view.n() - 1
                       : operation.extent == Extent::kInclusive ? view.me
                                                                : view.me - 1;
      const bool right =
          k == 0 || k == n + 1 ? found[at] != found[at]
          : last < 0           ? found[at] == 0
                     : is_right(found[at], operation_of(operation.op), number, k - 1, last + 1);
      ASSERT_TRUE(right) << "operation " << at / (n + 2) << ", element " << k << ": " << found[at];
    }
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

}  // namespace meshmem

#endif
