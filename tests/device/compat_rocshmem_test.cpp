// SPDX-License-Identifier: Apache-2.0
//
// Programs in the style of rocSHMEM's, with its names alone: gets and puts by waves and
// work-groups, contexts of work-groups, waits, collectives under both generations of names.
// Invariant: a mistake is printed, and the program then ends with status 1.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <meshmem/compat/rocshmem.hpp>
#include <vector>

using namespace rocshmem;

namespace {

constexpr int kElems = 256;
int failures = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "PE %d: %s\n", rocshmem_my_pe(), what);
  ++failures;
}
void must(hipError_t error) {
  if (error != hipSuccess) rocshmem_global_exit(1);
}

template <typename E>
E* allocate(size_t n) {
  E* memory = static_cast<E*>(rocshmem_malloc(n * sizeof(E)));
  if (!memory) rocshmem_global_exit(1);
  must(hipMemset(memory, 0, n * sizeof(E)));
  must(hipDeviceSynchronize());
  rocshmem_barrier_all();
  return memory;
}
template <typename E>
std::vector<E> read(const E* from, size_t n) {
  std::vector<E> values(n);
  must(hipMemcpy(values.data(), from, n * sizeof(E), hipMemcpyDeviceToHost));
  return values;
}

// A work-group reads its neighbour's data, puts it back with one added, and says so.
__global__ void get_and_put(int* source, int* dest, int* back, long* flag) {
  __shared__ rocshmem_ctx_t ctx;
  rocshmem_wg_init();
  rocshmem_wg_ctx_create(ROCSHMEM_CTX_WG_PRIVATE, &ctx);
  const int me = rocshmem_ctx_my_pe(ctx), n = rocshmem_ctx_n_pes(ctx), next = (me + 1) % n;
  for (int i = static_cast<int>(threadIdx.x); i < kElems; i += static_cast<int>(blockDim.x))
    source[i] = 1000 * me + i;
  rocshmem_wg_barrier_all();
  rocshmem_ctx_getmem_wg(ctx, dest, source, kElems * sizeof(int), next);
  rocshmem_ctx_quiet(ctx);
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < kElems; i += static_cast<int>(blockDim.x))
    ++dest[i];
  __syncthreads();
  if (threadIdx.x < static_cast<unsigned>(warpSize))
    rocshmem_ctx_int_put_nbi_wave(ctx, back, dest, kElems, next);
  __syncthreads();
  if (threadIdx.x == 0) {
    rocshmem_ctx_fence(ctx, next);
    rocshmem_quiet();
    rocshmem_long_p(flag, 1, next);
    rocshmem_long_wait_until(flag, ROCSHMEM_CMP_EQ, 1);
    rocshmem_threadfence_system();
  }
  rocshmem_wg_ctx_destroy(&ctx);
  rocshmem_wg_finalize();
}

// Puts and gets by a work-group end with a meeting of it.
__global__ void without_barriers(long* source, long* dest, int n, int* failed) {
  const int next = (rocshmem_my_pe() + 1) % rocshmem_n_pes();
  const int mine = n - 1 - static_cast<int>(threadIdx.x);
  source[mine] = mine;
  __syncthreads();
  rocshmem_long_put_wg(dest, source, static_cast<size_t>(n), next);
  source[n - 1 - mine] = -1;
  rocshmem_quiet();
  rocshmem_barrier_all_wg();
  rocshmem_long_get_wg(source, dest, static_cast<size_t>(n), next);
  if (source[n - 1 - mine] != n - 1 - mine) *failed = 8;
  rocshmem_barrier_all_wg();
}

__global__ void signals(long* data, uint64_t* signal, int* failed) {
  const int next = (rocshmem_my_pe() + 1) % rocshmem_n_pes();
  rocshmem_long_put_signal_wg(data + 8, data, 8, signal, 5, ROCSHMEM_SIGNAL_ADD, next);
  if (threadIdx.x == 0) rocshmem_ulong_wait_until(signal, ROCSHMEM_CMP_GE, 5UL);
  __syncthreads();
  if (rocshmem_signal_fetch_wg(signal) != 5) *failed = 1;
  rocshmem_barrier_all_wg();
}

// Programs choose by the name of an operation.
template <ROCSHMEM_OP op>
__device__ int reduce(rocshmem_ctx_t ctx, rocshmem_team_t team, long* dest, const long* source,
                      int count) {
  static_assert(op == ROCSHMEM_SUM || op == ROCSHMEM_MAX);
  return op == ROCSHMEM_SUM ? rocshmem_ctx_long_sum_wg_reduce(ctx, team, dest, source, count)
                            : rocshmem_ctx_long_max_reduce_wg(ctx, team, dest, source, count);
}

__global__ void collectives(rocshmem_team_t team, long* dest, long* source, int* failed) {
  __shared__ rocshmem_ctx_t ctx;
  if (rocshmem_wg_team_create_ctx(team, ROCSHMEM_CTX_ZERO, &ctx) != 0) *failed = 1;
  __syncthreads();
  const long n = rocshmem_ctx_n_pes(ctx), me = rocshmem_ctx_my_pe(ctx);
  for (long i = threadIdx.x; i < 2 * n; i += blockDim.x) source[i] = me;
  __syncthreads();
  rocshmem_ctx_long_wg_alltoall(ctx, team, dest, source, 2);
  if (threadIdx.x == 0 && dest[2 * n - 1] != n - 1) *failed = 2;
  rocshmem_ctx_sync_wg(ctx, team);
  rocshmem_ctx_long_fcollect_wg(ctx, team, dest, source, 2);
  if (threadIdx.x == 0 && dest[2 * n - 1] != n - 1) *failed = 3;
  rocshmem_ctx_barrier_wg(ctx, team);
  rocshmem_ctx_long_broadcast_wg(ctx, team, dest, source, 2, static_cast<int>(n) - 1);
  if (threadIdx.x == 0 && dest[1] != n - 1) *failed = 4;
  rocshmem_wg_team_sync(team);
  reduce<ROCSHMEM_SUM>(ctx, team, dest, source, 2);
  if (threadIdx.x == 0 && dest[1] != n * (n - 1) / 2) *failed = 5;
  rocshmem_ctx_wg_barrier_all(ctx);
  if (reduce<ROCSHMEM_MAX>(ctx, team, dest, source, 2) != 0) *failed = 6;
  if (threadIdx.x == 0 && dest[0] != n - 1) *failed = 7;
  rocshmem_ctx_long_or_wg_reduce(ctx, team, dest, source, 2);
  long all = 0;
  for (long pe = 0; pe < n; ++pe) all |= pe;
  if (threadIdx.x == 0 && dest[1] != all) *failed = 8;
  if (threadIdx.x < 2) source[threadIdx.x] = -1 - me;
  __syncthreads();
  rocshmem_ctx_long_and_reduce_wg(ctx, team, dest, source, 2);
  if (threadIdx.x == 0 && dest[0] != ~all) *failed = 9;
  __syncthreads();
  if (threadIdx.x < 2) source[threadIdx.x] = me;
  __syncthreads();
  if (threadIdx.x == 0) rocshmem_long_atomic_add(dest + 1, 1L, 0);
  rocshmem_wg_ctx_destroy(&ctx);
}

void by_kernels() {
  const int me = rocshmem_my_pe(), n = rocshmem_n_pes();
  int *source = allocate<int>(kElems), *dest = allocate<int>(kElems), *back = allocate<int>(kElems);
  long* flag = allocate<long>(1);
  hipLaunchKernelGGL(get_and_put, dim3(1), dim3(64), 0, nullptr, source, dest, back, flag);
  must(hipDeviceSynchronize());
  expect(read(back, kElems)[kElems - 1] == 1000 * me + kElems, "get_and_put");
  expect(read(dest, 1)[0] == 1000 * ((me + 1) % n) + 1, "get");
  long* data = allocate<long>(static_cast<size_t>(2 * n + 16));
  long* second = allocate<long>(static_cast<size_t>(2 * n + 16));
  uint64_t* signal = allocate<uint64_t>(1);
  int* failed = allocate<int>(1);
  hipLaunchKernelGGL(signals, dim3(1), dim3(64), 0, nullptr, data, signal, failed);
  must(hipDeviceSynchronize());
  long* buffers = allocate<long>(2 * 64);
  hipLaunchKernelGGL(without_barriers, dim3(1), dim3(64), 0, nullptr, buffers, buffers + 64, 64,
                     failed);
  must(hipDeviceSynchronize());
  expect(read(failed, 1)[0] == 0, "puts and gets by work-groups end with a meeting");
  rocshmem_barrier_all();
  rocshmem_free(buffers);
  rocshmem_team_t odd_order = ROCSHMEM_TEAM_INVALID;
  expect(
      rocshmem_team_split_strided(ROCSHMEM_TEAM_WORLD, n - 1, -1, n, nullptr, 0, &odd_order) == 0,
      "split");
  hipLaunchKernelGGL(collectives, dim3(1), dim3(64), 0, nullptr, odd_order, second, data, failed);
  must(hipDeviceSynchronize());
  expect(read(failed, 1)[0] == 0, "signals and collectives");
  rocshmem_barrier_all();
  rocshmem_team_destroy(odd_order);
  for (void* memory :
       {static_cast<void*>(source), static_cast<void*>(dest), static_cast<void*>(back),
        static_cast<void*>(flag), static_cast<void*>(data), static_cast<void*>(second),
        static_cast<void*>(signal), static_cast<void*>(failed)})
    rocshmem_free(memory);
}

void by_host() {
  const int me = rocshmem_my_pe(), n = rocshmem_n_pes();
  double* values = allocate<double>(4);
  rocshmem_ctx_t ctx = ROCSHMEM_CTX_DEFAULT;
  expect(rocshmem_ctx_create(ROCSHMEM_CTX_SERIALIZED, &ctx) == 0, "ctx_create");
  rocshmem_ctx_double_p(ctx, values, me + 0.5, (me + 1) % n);
  rocshmem_ctx_quiet(ctx);
  rocshmem_ctx_destroy(ctx);
  rocshmem_sync_all();
  expect(rocshmem_double_g(values, me) == (me + n - 1) % n + 0.5, "p and g");
  rocshmem_barrier_all();
  rocshmem_ctx_double_sum_reduce(ROCSHMEM_CTX_DEFAULT, ROCSHMEM_TEAM_WORLD, values + 1, values, 1);
  rocshmem_barrier_all();
  auto* words = static_cast<long long*>(rocshmem_malloc(2 * sizeof(long long)));
  const long long odd = me % 2 == 0 ? -1 : 7;
  rocshmem_longlong_p(words, odd, me);
  rocshmem_barrier_all();
  size_t index = 7;
  rocshmem_longlong_wait_until_all_vector(words, 1, nullptr, ROCSHMEM_CMP_EQ, odd);
  expect(rocshmem_longlong_wait_until_any_vector(words, 1, nullptr, ROCSHMEM_CMP_GE, odd) == 0 &&
             rocshmem_longlong_wait_until_some_vector(words, 1, &index, nullptr, ROCSHMEM_CMP_LE,
                                                      odd) == 1 &&
             index == 0,
         "vectors of waits with one value");
  rocshmem_ctx_longlong_xor_reduce(ROCSHMEM_CTX_DEFAULT, ROCSHMEM_TEAM_WORLD, words + 1, words, 1);
  const long long of_even = (n + 1) / 2 % 2 == 0 ? 0 : -1, of_odd = n / 2 % 2 == 0 ? 0 : 7;
  expect(rocshmem_longlong_g(words + 1, me) == (of_even ^ of_odd), "xor_reduce of long long");
  rocshmem_free(words);
  rocshmem_double_get(values + 2, values + 1, 1, (me + 1) % n);
  expect(rocshmem_double_g(values + 2, me) == n * (n - 1) / 2.0 + 0.5 * n, "sum_reduce");
  rocshmem_barrier_all_on_stream(nullptr);
  must(hipDeviceSynchronize());
  rocshmem_free(values);
}

// Names that came later than the others.
void aligned_memory_and_teams_on_streams() {
  const int me = rocshmem_my_pe(), n = rocshmem_n_pes();
  auto* zeros = static_cast<long*>(rocshmem_calloc(3, sizeof(long)));
  auto* aligned = static_cast<long*>(rocshmem_align(1 << 20, 3 * sizeof(long)));
  expect(zeros && aligned && reinterpret_cast<uintptr_t>(aligned) % (1 << 20) == 0,
         "calloc and align");
  expect(read(zeros, 3) == std::vector<long>(3, 0), "calloc gives zeros");
  expect(rocshmem_calloc(SIZE_MAX, 2) == nullptr, "calloc of more than there can be");
  rocshmem_team_t row = ROCSHMEM_TEAM_INVALID, column = ROCSHMEM_TEAM_INVALID;
  expect(rocshmem_team_split_2d(ROCSHMEM_TEAM_WORLD, 2, nullptr, 0, &row, nullptr, 0, &column) ==
             ROCSHMEM_SUCCESS,
         "split_2d");
  expect(rocshmem_team_my_pe(row) == me % 2 && rocshmem_team_my_pe(column) == me / 2, "places");
  hipStream_t stream = nullptr;
  must(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  const long mine = me + 1;
  must(hipMemcpy(aligned, &mine, sizeof mine, hipMemcpyHostToDevice));
  must(hipDeviceSynchronize());
  rocshmem_barrier_all();
  const int above = (me + 2) % n;
  rocshmem_putmem_on_stream(zeros, aligned, sizeof(long), above, stream);
  rocshmem_barrier_on_stream(ROCSHMEM_TEAM_WORLD, stream);
  must(hipStreamSynchronize(stream));
  expect(read(zeros, 1)[0] == (me + 2 * n - 2) % n + 1, "barrier of a team on a stream");
  rocshmem_team_sync_on_stream(column, stream);
  rocshmem_team_sync_on_stream(ROCSHMEM_TEAM_INVALID, stream);
  must(hipStreamSynchronize(stream));
  rocshmem_barrier_all();
  must(hipStreamDestroy(stream));
  rocshmem_team_destroy(row);
  rocshmem_team_destroy(column);
  rocshmem_free(aligned);
  rocshmem_free(zeros);
}

}  // namespace

int main() {
  rocshmem_init();
  by_kernels();
  by_host();
  aligned_memory_and_teams_on_streams();
  rocshmem_dump_stats();
  rocshmem_finalize();
  return failures == 0 ? 0 : 1;
}
