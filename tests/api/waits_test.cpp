// SPDX-License-Identifier: Apache-2.0
//
// Waits that another PE satisfies: every wait_until of every type, with data that must be there
// when it returns.
// Invariant: the sender pauses before the last update of a round, so that a wait that returns too
// early finds old data.
#include <unistd.h>

#include <vector>

#include "symmetric_array.hpp"
#include "typed_routines.hpp"

namespace meshmem {
namespace {

constexpr size_t kElems = 5;
constexpr int kForms = 7;
constexpr int kRounds = 100;

uint64_t static_ivars[kElems];

// The values of a wait's word: at first, on the way (neither ends the wait), and at the end.
struct Path {
  int cmp;
  int start, passed, end;  // compared with 5
};
constexpr Path kPaths[] = {{SHMEM_CMP_EQ, 0, 4, 5}, {SHMEM_CMP_NE, 5, 5, 6},
                           {SHMEM_CMP_GT, 0, 5, 6}, {SHMEM_CMP_GE, 0, 4, 5},
                           {SHMEM_CMP_LT, 9, 5, 4}, {SHMEM_CMP_LE, 9, 6, 5}};

TEST(WaitUntil, S45_LastsUntilTheComparisonHolds) {
  for_each_wait([](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    SymmetricArray<E> ivar(1);
    SymmetricArray<int> data(1);
    for (const Path& path : kPaths) {
      ivar[0] = static_cast<E>(path.start);
      data[0] = 0;
      shmem_barrier_all();
      shmem_atomic_set(ivar.data(), static_cast<E>(path.passed), next_pe());
      if (n_pes() > 1) usleep(100);
      shmem_int_p(data, 1, next_pe());
      shmem_fence();
      shmem_atomic_set(ivar.data(), static_cast<E>(path.end), next_pe());
      row.wait_until(ivar, path.cmp, E(5));
      EXPECT_EQ(ivar[0], static_cast<E>(path.end)) << "comparison " << path.cmp;
      EXPECT_EQ(data[0], 1);
      shmem_barrier_all();
    }
  });
}

// Puts data and flag of each element to the next PE, a pause before the last one, which is element
// `last`.
template <typename E>
void send_all(E* ivars, long* data, const std::vector<E>& news, size_t last) {
  for (size_t i = 1; i <= kElems; ++i) {
    const size_t element = (last + i) % kElems;
    if (element == last) usleep(100);
    shmem_long_p(&data[element], static_cast<long>(element) + 1, next_pe());
    shmem_fence();
    shmem_atomic_set(&ivars[element], news[element], next_pe());
  }
}

// Takes the elements as they come, masking those that were seen.
template <typename Row, typename E>
void wait_for_some(const Row& row, E* ivars, int form, const std::vector<E>& news) {
  std::vector<int> done(kElems, 0);
  std::vector<size_t> found(kElems, 0);
  const int cmp = SHMEM_CMP_EQ;
  for (size_t left = kElems; left > 0;) {
    size_t count = 1;
    if (form == 3) found[0] = row.wait_until_any(ivars, kElems, done.data(), cmp, news[0]);
    if (form == 4)
      found[0] = row.wait_until_any_vector(ivars, kElems, done.data(), cmp, news.data());
    if (form == 5)
      count = row.wait_until_some(ivars, kElems, found.data(), done.data(), cmp, news[0]);
    if (form == 6) {
      count =
          row.wait_until_some_vector(ivars, kElems, found.data(), done.data(), cmp, news.data());
    }
    ASSERT_GE(count, 1u);
    ASSERT_LE(count, left);
    for (size_t i = 0; i < count; ++i) {
      ASSERT_LT(found[i], kElems);
      EXPECT_EQ(ivars[found[i]], news[found[i]]) << "an index that is not satisfied";
      EXPECT_EQ(done[found[i]]++, 0) << "a masked index was returned";
    }
    left -= count;
  }
}

template <typename Row, typename E>
void wait_for_all(const Row& row, E* ivars, int form, const std::vector<E>& news) {
  if (form == 0) {
    for (size_t i = 0; i < kElems; ++i) row.wait_until(&ivars[i], SHMEM_CMP_EQ, news[i]);
  } else if (form == 1) {
    row.wait_until_all(ivars, kElems, nullptr, SHMEM_CMP_EQ, news[0]);
  } else if (form == 2) {
    row.wait_until_all_vector(ivars, kElems, nullptr, SHMEM_CMP_EQ, news.data());
  } else {
    wait_for_some(row, ivars, form, news);
  }
}

bool is_vector(int form) { return form == 0 || form == 2 || form == 4 || form == 6; }

// First the last element comes last, in all forms; then another one, which differs by type.
TEST(WaitUntil, S45_EveryFormSeesEveryElementComplete) {
  size_t type = 0;
  for_each_wait([&type](const auto& row) {
    SCOPED_TRACE(row.type);
    using E = typename std::decay_t<decltype(row)>::Element;
    SymmetricArray<E> heap(kElems);
    SymmetricArray<long> data(kElems);
    ++type;
    for (int round = 0; round < 2 * kForms; ++round) {
      const int form = round % kForms;
      E* ivars = round % 2 == 0 ? heap.data() : reinterpret_cast<E*>(static_ivars);
      std::vector<E> news(kElems, static_cast<E>(sample<E>(static_cast<uint64_t>(round)) | E(1)));
      for (size_t i = 0; is_vector(form) && i < kElems; ++i)
        news[i] = static_cast<E>(news[i] ^ (E(1) << (i + 1)));
      std::fill(ivars, ivars + kElems, E(0));
      std::fill(data.data(), data.data() + kElems, 0);
      shmem_barrier_all();
      send_all(ivars, data.data(), news, (round < kForms ? kElems - 1 : type % kElems));
      wait_for_all(row, ivars, form, news);
      expect_each("data", data.data(), kElems, [](size_t i) { return static_cast<long>(i) + 1; });
      shmem_barrier_all();
    }
  });
}

// Many updates in a row: every value is seen to come, none is left out.
TEST(WaitUntil, S45_PingPongSeesEveryValue) {
  SymmetricArray<int> ball(1);
  ball[0] = 0;
  shmem_barrier_all();
  for (int round = 1; round <= kRounds; ++round) {
    if (my_pe() == 0) shmem_int_atomic_set(ball, round, next_pe());
    shmem_int_wait_until(ball, SHMEM_CMP_EQ, round);
    if (my_pe() != 0) shmem_int_atomic_set(ball, round, next_pe());
  }
  EXPECT_EQ(ball[0], kRounds);
}

}  // namespace
}  // namespace meshmem
