// SPDX-License-Identifier: Apache-2.0
//
// Kernels that store into their buffers before and after a call, for buffers of several types, in
// symmetric memory and on the stack.
// Invariant: after a call a kernel reads what the call wrote, and its later stores do not change
// what it sent. Compilers assume that objects of different types do not overlap, so the routines
// must access buffers without a type.
#include "device_array.hpp"

namespace meshmem {
namespace {

// A kernel's arrays, all in symmetric memory, and the number of its checks that failed.
template <typename T>
struct OwnValuesJob {
  T *dest, *own, *all;
  int* failures;
  int first;  // the first value; an argument, so that the compiler does not know it
};

template <typename T, int n>
struct Values {
  __device__ static void fill(T* to, int first) {
    for (int i = 0; i < n; ++i) to[i] = static_cast<T>(first + i);
  }
  __device__ static void clear(T* to) {
    for (int i = 0; i < n; ++i) to[i] = static_cast<T>(0);
  }
  __device__ static void check(const T* found, int first, int step, int* failures) {
    for (int i = 0; i < n; ++i)
      if (found[step * i] != static_cast<T>(first + step * i)) ++*failures;
  }
};

// One thread puts to its own PE and gets from it.
template <typename T, int n>
__global__ void own_values_kernel(OwnValuesJob<T> job) {
  using One = Values<T, n>;
  using Two = Values<T, 2 * n>;
  const int me = shmem_my_pe(), first = job.first;
  {
    T mine[n];
    One::fill(mine, first);
    shmem_put(job.dest, mine, n, me);
    One::clear(mine);
    shmem_get(mine, job.dest, n, me);
    One::check(mine, first, 1, job.failures);
  }
  {
    T mine[2 * n];
    Two::fill(mine, first);
    shmem_iput(job.dest, mine, 1, 2, n, me);
    Two::clear(mine);
    shmem_iget(mine, job.dest, 2, 1, n, me);
    One::check(mine, first, 2, job.failures);
  }
  One::fill(job.own, first + 1);
  shmem_put(job.dest, job.own, n, me);
  One::clear(job.own);
  shmem_get(job.own, job.dest, n, me);
  One::check(job.own, first + 1, 1, job.failures);

  Two::fill(job.own, first + 2);
  shmem_ibput(job.dest, job.own, 2, 2, 1, n, me);
  Two::clear(job.own);
  shmem_ibget(job.own, job.dest, 2, 2, 1, n, me);
  One::check(job.own, first + 2, 2, job.failures);
}

// One thread of each PE calls collectives. All PEs give the same values, so the minimum is the
// value of each.
template <typename T, int n>
__global__ void own_values_collectives_kernel(OwnValuesJob<T> job) {
  using One = Values<T, n>;
  const int n_pes = shmem_n_pes(), first = job.first;
  One::fill(job.own, first);
  shmem_fcollect(SHMEM_TEAM_WORLD, job.all, job.own, n);
  One::clear(job.own);
  for (int pe = 0; pe < n_pes; ++pe) One::check(job.all + pe * n, first, 1, job.failures);
  One::fill(job.own, first + 1);
  shmem_min_reduce(SHMEM_TEAM_WORLD, job.dest, job.own, n);
  One::clear(job.own);
  One::check(job.dest, first + 1, 1, job.failures);
  One::fill(job.own, first + 2);
  shmem_broadcast(SHMEM_TEAM_WORLD, job.dest, job.own, n, 0);
  One::clear(job.own);
  One::check(job.dest, first + 2, 1, job.failures);
}

template <typename T>
class OwnValues : public ::testing::Test {};
using Types = ::testing::Types<short, int, long, long long, float, double>;
TYPED_TEST_SUITE(OwnValues, Types);

template <typename T, int n>
void run_own_values() {
  const auto most = static_cast<size_t>(2 * n);
  DeviceArray<T> dest(most), own(most), all(static_cast<size_t>(n * n_pes()));
  DeviceArray<int> failures(1, 0);
  const OwnValuesJob<T> job{dest.data(), own.data(), all.data(), failures.data(), 3};
  launch(own_values_kernel<T, n>, 1, 1, job);
  synchronize();
  EXPECT_EQ(failures.first(), 0) << n << " elements";
  launch(own_values_collectives_kernel<T, n>, 1, 1, job);
  synchronize();
  EXPECT_EQ(failures.first(), 0) << n << " elements, by collectives";
}

TYPED_TEST(OwnValues, AreWhatTheCallBeforeHasLeft) {
  run_own_values<TypeParam, 1>();
  run_own_values<TypeParam, 2>();
  run_own_values<TypeParam, 3>();
  run_own_values<TypeParam, 4>();
  run_own_values<TypeParam, 8>();
  run_own_values<TypeParam, 16>();
  run_own_values<TypeParam, 20>();
  run_own_values<TypeParam, 33>();
}

}  // namespace
}  // namespace meshmem
