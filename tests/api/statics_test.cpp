// SPDX-License-Identifier: Apache-2.0
//
// Global and static variables as symmetric objects (rule S9): initialized and zero, local statics,
// class members, templates, inline variables, small, large and of C++ types. Built twice, as PIE
// and at a fixed address.
// Invariant: values from before init survive it, and each PE has its own copy of every variable.
#include <sched.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "statics_far.hpp"
#include "symmetric_array.hpp"

namespace meshmem {
namespace {

long zero;                // .bss
long initialized = 1234;  // .data
char one_byte = 'a';      // beside others in a word
char another_byte = 'b';
uint64_t large[300000];             // many pages of .bss
int large_data[50000] = {1, 2, 3};  // many pages of .data
long* relocated = &initialized;     // .data with a relocation
volatile int polled;

struct Owner {
  static long member;
  long inside[3] = {1, 2, 3};
};
long Owner::member = 9;
Owner owner;  // a C++ object

template <typename T>
struct PerType {
  static inline T value = T(3);
};

inline long inline_variable = 17;

// Each PE puts its sample to the next one's variable; values of neighbours stay apart.
template <typename T>
void expect_symmetric(const char* what, T* variable, T old) {
  SCOPED_TRACE(what);
  EXPECT_EQ(*variable, old) << "the value from before init";
  EXPECT_EQ(shmem_addr_accessible(variable, next_pe()), 1);
  shmem_barrier_all();
  const T mine = sample<T>(seed_of(my_pe(), 5));
  shmem_putmem(variable, &mine, sizeof(T), next_pe());
  shmem_barrier_all();
  EXPECT_EQ(*variable, sample<T>(seed_of(previous_pe(), 5)));
  T there;
  shmem_getmem(&there, variable, sizeof(T), next_pe());
  EXPECT_EQ(there, mine);
  shmem_barrier_all();
  *variable = old;
  shmem_barrier_all();
}

TEST(Statics, S9_GlobalsAreSymmetric) {
  expect_symmetric("zero", &zero, 0L);
  expect_symmetric("initialized", &initialized, 1234L);
  expect_symmetric("one_byte", &one_byte, 'a');
  expect_symmetric("another_byte", &another_byte, 'b');
  expect_symmetric("class member", &Owner::member, 9L);
  expect_symmetric("inside an object", &owner.inside[1], 2L);
  expect_symmetric("template", &PerType<double>::value, 3.0);
  expect_symmetric("inline", &inline_variable, 17L);
}

TEST(Statics, S9_VariablesOfFunctionsAreSymmetric) {
  static int local_zero;
  static short local_initialized = -5;
  static double guarded = std::atof("2.5");  // initialized when control passes here
  expect_symmetric("local zero", &local_zero, 0);
  expect_symmetric("local initialized", &local_initialized, static_cast<short>(-5));
  expect_symmetric("guarded", &guarded, 2.5);
}

TEST(Statics, S9_GlobalsOfOtherFilesAreSymmetric) {
  expect_symmetric("zero", &far_zero, 0L);
  expect_symmetric("initialized", &far_initialized, 0x123456789abcdef0L);
  expect_symmetric("array", &far_array[2], 3);
  expect_symmetric("array's end", &far_array[999], 0);
}

TEST(Statics, S9_LargeArraysAreSymmetricToTheLastElement) {
  for (size_t i : {size_t{0}, size_t{511}, size_t{512}, size_t{150001}, size_t{299999}}) {
    expect_symmetric("large", &large[i], uint64_t{0});
  }
  expect_symmetric("large data", &large_data[2], 3);
  expect_symmetric("large data's end", &large_data[49999], 0);
  static uint64_t source[300000];
  fill(source, 300000, my_pe());
  shmem_uint64_put(large, source, 300000, next_pe());
  shmem_barrier_all();
  expect_filled("large put", large, 300000, previous_pe());
}

// Pointers into the data segment, and C++ objects that own heap memory, still work: nothing moved.
TEST(Statics, S9_AddressesStayWhatTheyWere) {
  EXPECT_EQ(relocated, &initialized);
  EXPECT_EQ(*relocated, 1234);
  EXPECT_EQ(far_text, "a text that is too long to be kept inside of the string itself");
  far_text += '!';
  EXPECT_EQ(far_text.back(), '!');
  far_vector.push_back(8);
  EXPECT_EQ(far_vector, (std::vector<int>{5, 6, 7, 8}));
  std::cout
      << std::flush;  // objects of libraries, which a fixed-address program may hold copies of
  EXPECT_EQ(std::fflush(stdout), 0);
  errno = 7;
  EXPECT_EQ(errno, 7);
}

TEST(Statics, S9_AtomicsReachThem) {
  static int counter;
  static uint64_t bits = uint64_t{1} << 63;
  counter = 0;
  shmem_barrier_all();
  for (int i = 0; i < 100; ++i) shmem_int_atomic_inc(&counter, 0);
  shmem_uint64_atomic_or(&bits, uint64_t{1} << my_pe(), n_pes() - 1);
  shmem_barrier_all();
  EXPECT_EQ(shmem_int_atomic_fetch(&counter, 0), 100 * n_pes());
  EXPECT_EQ(shmem_uint64_atomic_fetch(&bits, n_pes() - 1),
            (uint64_t{1} << 63) + (uint64_t{1} << n_pes()) - 1);
  shmem_barrier_all();
}

TEST(Statics, S9_WaitsSeeThem) {
  static int flag;
  static uint64_t signal;
  static long data;
  for (int round = 1; round <= 50; ++round) {
    const long news = 100 * round + my_pe();
    shmem_long_put_signal(&data, &news, 1, &signal, 1, SHMEM_SIGNAL_ADD, next_pe());
    shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, static_cast<uint64_t>(round));
    EXPECT_EQ(data, 100 * round + previous_pe());
    shmem_int_p(&flag, round, previous_pe());
    shmem_int_wait_until(&flag, SHMEM_CMP_EQ, round);
  }
}

// Unseen by ThreadSanitizer, which tells of plain loads of what another thread stores: between
// nodes, that is the thread of the library that receives messages.
__attribute__((noinline, no_sanitize("thread"))) int polled_now() { return polled; }

// A loop in plain code sees a peer's put, as it would in the heap.
TEST(Statics, S10_PlainLoadsSeePuts) {
  shmem_barrier_all();
  shmem_int_p(const_cast<int*>(&polled), 1, next_pe());
  while (!polled_now()) sched_yield();
  EXPECT_EQ(polled_now(), 1);
}

TEST(Statics, S21_PtrLeadsToEachPesOwnCopy) {
  static int mine;
  mine = 300 + my_pe();
  shmem_barrier_all();
  for (int pe = 0; pe < n_pes(); ++pe) {
    auto* theirs = static_cast<int*>(shmem_ptr(&mine, pe));
    ASSERT_EQ(theirs != nullptr, is_near(pe)) << "all PEs of a machine are mapped";
    if (theirs) {
      EXPECT_EQ(*theirs, 300 + pe);
    }
  }
  shmem_barrier_all();
}

TEST(Statics, S9_CollectivesTakeThem) {
  static long sum, mine, all[64], root;
  mine = 10 + my_pe();
  root = my_pe() == 0 ? 99 : -1;
  static long received;
  EXPECT_EQ(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &mine, 1), 0);
  EXPECT_EQ(sum, 10 * n_pes() + n_pes() * (n_pes() - 1) / 2);
  EXPECT_EQ(shmem_long_fcollect(SHMEM_TEAM_WORLD, all, &mine, 1), 0);
  expect_each("fcollect", all, static_cast<size_t>(n_pes()),
              [](size_t pe) { return 10 + static_cast<long>(pe); });
  EXPECT_EQ(shmem_long_broadcast(SHMEM_TEAM_WORLD, &received, &root, 1, 0), 0);
  EXPECT_EQ(received, 99);
}

}  // namespace
}  // namespace meshmem
