// SPDX-License-Identifier: Apache-2.0
//
// Loops that wait by looking: the library lets others run now and then, as in its own waits.
// Invariant: this program's sched_yield stands in front of the C library's, and counts.
#include <gtest/gtest.h>
#include <shmem.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace {

thread_local int yields = 0;
constexpr int kMany = 10000;

long words[2];
std::uint64_t signal_word;
long lock;

template <typename Look>
int yields_of(const Look& look) {
  shmem_barrier_all();
  const int before = yields;
  for (int i = 0; i < kMany; ++i) look(i);
  const int made = yields - before;
  shmem_barrier_all();
  return made;
}

int me() { return shmem_my_pe(); }

TEST(Looks, AFailedTestYieldsNowAndThen) {
  EXPECT_GE(yields_of([](int) { EXPECT_EQ(shmem_long_test(&words[0], SHMEM_CMP_EQ, 1), 0); }), 5);
  EXPECT_GE(
      yields_of([](int) { EXPECT_EQ(shmem_long_test_all(words, 2, nullptr, SHMEM_CMP_EQ, 1), 0); }),
      5);
  EXPECT_EQ(yields_of([](int) { EXPECT_EQ(shmem_long_test(&words[0], SHMEM_CMP_EQ, 0), 1); }), 0);
}

TEST(Looks, ALockThatIsHeldYieldsNowAndThen) {
  if (me() == 0) shmem_set_lock(&lock);
  EXPECT_GE(yields_of([](int) { EXPECT_EQ(shmem_test_lock(&lock), 1); }), 5);
  if (me() == 0) shmem_clear_lock(&lock);
  shmem_barrier_all();
}

TEST(Looks, TheSameFetchAgainAndAgainYieldsNowAndThen) {
  EXPECT_GE(yields_of([](int) { EXPECT_EQ(shmem_long_atomic_fetch(&words[0], me()), 0); }), 5);
  EXPECT_GE(yields_of([](int) { EXPECT_EQ(shmem_signal_fetch(&signal_word), 0u); }), 5);
}

TEST(Looks, FetchesThatAreNoWaitDoNotYield) {
  const auto at_two_places = [](int i) { (void)shmem_long_atomic_fetch(&words[i % 2], me()); };
  EXPECT_EQ(yields_of(at_two_places), 0);
  const auto of_other_values = [](int i) {
    shmem_long_atomic_set(&words[1], i, me());
    EXPECT_EQ(shmem_long_atomic_fetch(&words[1], me()), i);
  };
  EXPECT_EQ(yields_of(of_other_values), 0);
  words[1] = 0;
  EXPECT_EQ(yields_of([](int) { (void)shmem_long_atomic_fetch_add(&words[1], 0, me()); }), 0);
}

}  // namespace

extern "C" int sched_yield() noexcept {
  ++yields;
  return static_cast<int>(syscall(SYS_sched_yield));
}
