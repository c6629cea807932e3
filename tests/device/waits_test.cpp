// SPDX-License-Identifier: Apache-2.0
//
// Waits and tests in kernels: every routine of every type, those that hold already against a model,
// and those that another PE makes hold while the kernel waits.
// Invariant: the model is computed on the host.
#include <algorithm>
#include <set>

#include "../api/comparison_model.hpp"
#include "forms.hpp"

namespace meshmem {
namespace {

#define MESHMEM_ROW_WAIT(NAME, TYPE, rma, ext, amo, ...) \
  MESHMEM_CALLS_##amo(Wait, MESHMEM_ROWS_WAIT, NAME, TYPE)
#define MESHMEM_ROW_TEST(NAME, TYPE, rma, ext, amo, ...) \
  MESHMEM_CALLS_##amo(Test, MESHMEM_ROWS_TEST, NAME, TYPE)
MESHMEM_KERNEL_TYPES(MESHMEM_ROW_WAIT, )
MESHMEM_KERNEL_TYPES(MESHMEM_ROW_TEST, )

constexpr size_t kElems = 6;
constexpr size_t kMasks = 4;  // none, and three of kMaskBits
constexpr unsigned kMaskBits[] = {0u, 0x15u, 0x2au, 0x3fu};

// The arguments of a call: ivars of this PE, a mask of those left out, the values in memory of the
// device that is not symmetric.
template <typename E>
struct Question {
  E* ivars;
  const int* status;  // null: no mask
  const E* values;    // of the vector forms; values[0] is the others'
  int cmp;
};

// The answers of the six tests, or of the six waits.
struct Answer {
  size_t all, any, some, all_vector, any_vector, some_vector;
  size_t some_indices[kElems], some_vector_indices[kElems];
  int one[kElems];  // test of each element
};

template <typename Row>
__global__ void test_kernel(Question<typename Row::E> q, Answer* answer) {
  Answer& a = *answer;
  a.all = static_cast<size_t>(Row::test_all(q.ivars, kElems, q.status, q.cmp, q.values[0]));
  a.any = Row::test_any(q.ivars, kElems, q.status, q.cmp, q.values[0]);
  a.some = Row::test_some(q.ivars, kElems, a.some_indices, q.status, q.cmp, q.values[0]);
  a.all_vector =
      static_cast<size_t>(Row::test_all_vector(q.ivars, kElems, q.status, q.cmp, q.values));
  a.any_vector = Row::test_any_vector(q.ivars, kElems, q.status, q.cmp, q.values);
  a.some_vector =
      Row::test_some_vector(q.ivars, kElems, a.some_vector_indices, q.status, q.cmp, q.values);
  for (size_t i = 0; i < kElems; ++i) a.one[i] = Row::test(q.ivars + i, q.cmp, q.values[i]);
}

// The same by waits, of which all must hold already. Answers come from the group's leader.
template <typename Row>
__global__ void wait_kernel(Call call, bool wait_for_all, Question<typename Row::E> q,
                            Answer* answer) {
  if (!takes_part(call.form)) return;
  Answer& a = *answer;
  if (wait_for_all) {
    Row::wait_until_all(call, q.ivars, kElems, q.status, q.cmp, q.values[0]);
    Row::wait_until_all_vector(call, q.ivars, kElems, q.status, q.cmp, q.values);
  }
  const size_t any = Row::wait_until_any(call, q.ivars, kElems, q.status, q.cmp, q.values[0]);
  const size_t some =
      Row::wait_until_some(call, q.ivars, kElems, a.some_indices, q.status, q.cmp, q.values[0]);
  const size_t any_vector =
      Row::wait_until_any_vector(call, q.ivars, kElems, q.status, q.cmp, q.values);
  const size_t some_vector = Row::wait_until_some_vector(
      call, q.ivars, kElems, a.some_vector_indices, q.status, q.cmp, q.values);
  if (!leads(call.form)) return;
  a.any = any;
  a.some = some;
  a.any_vector = any_vector;
  a.some_vector = some_vector;
}

// Which indices hold, and how many are not masked.
struct Model {
  std::set<size_t> found;
  size_t chosen;
  bool all() const { return found.size() == chosen; }
};
template <typename E>
Model model(const std::vector<E>& ivars, unsigned mask, int cmp, const std::vector<E>& values,
            bool vector) {
  Model result{{}, 0};
  for (size_t i = 0; i < kElems; ++i) {
    if (mask >> i & 1) continue;
    ++result.chosen;
    if (compare(ivars[i], cmp, values[vector ? i : 0])) result.found.insert(i);
  }
  return result;
}

void expect_any(size_t found, const Model& model) {
  if (model.found.empty()) {
    EXPECT_EQ(found, SIZE_MAX);
  } else {
    EXPECT_EQ(model.found.count(found), 1u) << "index " << found;
  }
}
void expect_some(size_t count, const size_t* indices, const Model& model) {
  ASSERT_LE(count, kElems);
  EXPECT_EQ(std::set<size_t>(indices, indices + count), model.found);
  EXPECT_EQ(count, model.found.size()) << "an index was returned twice";
}

// Small, large, with the top bit, beyond 32 bits.
template <typename E>
std::vector<E> edge_values() {
  constexpr int kBits = static_cast<int>(8 * sizeof(E));
  return {E(0),
          E(1),
          static_cast<E>(~E(0)),
          static_cast<E>(~(uint64_t{1} << (kBits - 1))),
          static_cast<E>(uint64_t{1} << (kBits - 1)),
          static_cast<E>(uint64_t{5} << (kBits - 8))};
}

template <typename E>
class Asker {
 public:
  Asker() : ivars_(edge_values<E>()), values_(kElems), status_(kMasks * kElems), answer_(1) {
    std::vector<int> status;
    for (const unsigned mask : kMaskBits) {
      for (size_t i = 0; i < kElems; ++i) status.push_back((mask >> i & 1) ? 1 << (i + 3) : 0);
    }
    status_.upload(status);
  }

  // Asks with each mask and comparison, and with the edge values in turn.
  template <typename Ask>
  void for_each_question(const Ask& ask) {
    for (size_t turn = 0; turn < kElems; ++turn) {
      std::vector<E> values = edge_values<E>();
      std::rotate(values.begin(), values.begin() + static_cast<ptrdiff_t>(turn), values.end());
      values_.upload(values);
      for (size_t mask = 0; mask < kMasks; ++mask) {
        for (const int cmp : kComparisons) {
          const int* status = mask == 0 && turn % 2 == 0 ? nullptr : status_.data() + mask * kElems;
          ask(Question<E>{ivars_.data(), status, values_.data(), cmp},
              model(edge_values<E>(), kMaskBits[mask], cmp, values, false),
              model(edge_values<E>(), kMaskBits[mask], cmp, values, true));
        }
      }
    }
  }
  Answer* answer() { return answer_.data(); }
  Answer answered() {
    synchronize();
    return answer_.first();
  }
  std::vector<int> status() const { return status_.download(); }

 private:
  DeviceArray<E> ivars_, values_;
  DeviceArray<int> status_;
  DeviceArray<Answer> answer_;
};

template <typename Row>
void check_tests() {
  using E = typename Row::E;
  SCOPED_TRACE(Row::type());
  Asker<E> asker;
  const auto status = asker.status();
  asker.for_each_question([&](const Question<E>& q, const Model& one, const Model& vector) {
    SCOPED_TRACE(q.cmp);
    launch(test_kernel<Row>, 1, 1, q, asker.answer());
    const Answer a = asker.answered();
    EXPECT_EQ(a.all, one.all() ? 1u : 0u);
    expect_any(a.any, one);
    expect_some(a.some, a.some_indices, one);
    EXPECT_EQ(a.all_vector, vector.all() ? 1u : 0u);
    expect_any(a.any_vector, vector);
    expect_some(a.some_vector, a.some_vector_indices, vector);
    for (size_t i = 0; i < kElems && vector.chosen == kElems; ++i)
      EXPECT_EQ(a.one[i], vector.found.count(i) ? 1 : 0);
  });
  expect_equal("the mask, which is not written", asker.status(), status);
}

template <typename Row>
void check_waits() {
  using E = typename Row::E;
  SCOPED_TRACE(Row::type());
  Asker<E> asker;
  size_t turn = 0;
  asker.for_each_question([&](const Question<E>& q, const Model& one, const Model& vector) {
    SCOPED_TRACE(q.cmp);
    if ((one.found.empty() && one.chosen) || (vector.found.empty() && vector.chosen)) return;
    const Form form = kGroups[turn++ % 3];
    launch(wait_kernel<Row>, 1, odd_block(), Call{form, SHMEM_CTX_DEFAULT},
           one.all() && vector.all(), q, asker.answer());
    const Answer a = asker.answered();
    expect_any(a.any, one);
    expect_some(a.some, a.some_indices, one);
    expect_any(a.any_vector, vector);
    expect_some(a.some_vector, a.some_vector_indices, vector);
  });
}

TEST(DeviceTest, S46_S47_S49_S50_EveryTypeFollowsTheModel) {
#define MESHMEM_CHECK_ROW(NAME, TYPE, rma, ext, amo, ...) \
  MESHMEM_IN_##amo(check_tests<Test_##NAME>();)
  MESHMEM_KERNEL_TYPES(MESHMEM_CHECK_ROW, )
#undef MESHMEM_CHECK_ROW
}

TEST(DeviceWait, S46_S47_S49_EveryTypeFollowsTheModel) {
#define MESHMEM_CHECK_ROW(NAME, TYPE, rma, ext, amo, ...) \
  MESHMEM_IN_##amo(check_waits<Wait_##NAME>();)
  MESHMEM_KERNEL_TYPES(MESHMEM_CHECK_ROW, )
#undef MESHMEM_CHECK_ROW
}

// A set of no elements: nothing is looked at.
__global__ void empty_kernel(size_t* out) {
  int* none = nullptr;
  shmem_int_wait_until_all(none, 0, nullptr, SHMEM_CMP_EQ, 1);
  out[0] = shmem_int_wait_until_any(none, 0, nullptr, SHMEM_CMP_EQ, 1);
  out[1] = shmem_int_wait_until_some(none, 0, nullptr, nullptr, SHMEM_CMP_EQ, 1);
  out[2] = static_cast<size_t>(shmem_int_test_all(none, 0, nullptr, SHMEM_CMP_EQ, 1));
  out[3] = shmem_int_test_any(none, 0, nullptr, SHMEM_CMP_EQ, 1);
  out[4] = shmem_int_test_some(none, 0, nullptr, nullptr, SHMEM_CMP_EQ, 1);
}

TEST(DeviceWait, S47_AnEmptySetIsSatisfied) {
  DeviceArray<size_t> out(5, 99);
  launch(empty_kernel, 1, 1, out.data());
  synchronize();
  expect_equal("answers", out.download(), {SIZE_MAX, 0, 1, SIZE_MAX, 0});
}

// Calls of an `any` in a loop find every index that holds, soon.
__global__ void fair_kernel(long* ivars, int* seen) {
  for (int i = 0; i < 3000; ++i) {
    if (i % 2)
      ++seen[shmem_long_wait_until_any(ivars, kElems, nullptr, SHMEM_CMP_EQ, 1)];
    else
      ++seen[shmem_long_test_any(ivars, kElems, nullptr, SHMEM_CMP_EQ, 1)];
  }
}

TEST(DeviceWait, S48_AnyIsFair) {
  DeviceArray<long> ivars({1, 0, 1, 1, 0, 1});
  DeviceArray<int> seen(kElems, 0);
  launch(fair_kernel, 1, 1, ivars.data(), seen.data());
  synchronize();
  const auto counts = seen.download();
  for (const size_t i : {0u, 2u, 3u, 5u}) EXPECT_GT(counts[i], 0) << "index " << i;
  EXPECT_EQ(counts[1] + counts[4], 0);
}

// The values of an ivar: it starts with one, passes another, and ends with one that satisfies the
// wait, which compares with 5.
struct Path {
  int cmp, start, passed, end;
};
constexpr Path kPaths[] = {{SHMEM_CMP_EQ, 0, 4, 5}, {SHMEM_CMP_NE, 5, 5, 6},
                           {SHMEM_CMP_GT, 0, 5, 6}, {SHMEM_CMP_GE, 0, 4, 5},
                           {SHMEM_CMP_LT, 9, 5, 4}, {SHMEM_CMP_LE, 9, 6, 5}};

// Sends to the next PE while it waits for the previous one; the data must be there when the wait
// ends, for every thread of the group.
template <typename Row>
__global__ void path_kernel(Call call, Path path, typename Row::E* ivar, int* data, int* errors,
                            int next) {
  using E = typename Row::E;
  const int threads = static_cast<int>(blockDim.x);
  if (threadIdx.x == 0) {
    shmem_atomic_set(ivar, static_cast<E>(path.passed), next);
    for (int i = 0; i < threads; ++i) shmem_int_p(data + i, path.end + i, next);
    shmem_fence();
    shmem_atomic_set(ivar, static_cast<E>(path.end), next);
  }
  if (!takes_part(call.form)) return;
  Row::wait_until(call, ivar, path.cmp, E(5));
  const int mine = static_cast<int>(threadIdx.x);
  if (data[mine] != path.end + mine) shmem_int_atomic_inc(errors, shmem_my_pe());
}

template <typename Row>
void check_paths() {
  using E = typename Row::E;
  SCOPED_TRACE(Row::type());
  DeviceArray<E> ivar(18);
  DeviceArray<int> data(18 * odd_block(), -1), errors(1, 0);
  std::vector<E> starts;
  for (const Path& path : kPaths) starts.insert(starts.end(), 3, static_cast<E>(path.start));
  ivar.upload(starts);
  shmem_barrier_all();
  for (size_t i = 0; i < 18; ++i) {
    launch(path_kernel<Row>, 1, odd_block(), Call{kGroups[i % 3], SHMEM_CTX_DEFAULT}, kPaths[i / 3],
           ivar.data() + i, data.data() + i * odd_block(), errors.data(), next_pe());
  }
  meet_after_kernels();
  EXPECT_EQ(errors.first(), 0);
}

TEST(DeviceWait, S45_LastsUntilTheComparisonHoldsForEveryType) {
#define MESHMEM_CHECK_ROW(NAME, TYPE, rma, ext, amo, ...) \
  MESHMEM_IN_##amo(check_paths<Wait_##NAME>();)
  MESHMEM_KERNEL_TYPES(MESHMEM_CHECK_ROW, )
#undef MESHMEM_CHECK_ROW
}

}  // namespace
}  // namespace meshmem
