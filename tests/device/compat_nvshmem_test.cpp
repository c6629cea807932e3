// SPDX-License-Identifier: Apache-2.0
//
// Programs in the style of NVSHMEM's, with its names alone: a ring, a halo with signals, reductions
// on a stream, teams, atomics, the start by a unique identifier.
// Invariant: a mistake is printed, and the program then ends with status 1.
#include <hip/hip_runtime.h>
#include <meshmem/compat/nvshmem.h>
#include <meshmem/compat/nvshmemx.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr int kElems = 1000;
int failures = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "PE %d: %s\n", nvshmem_my_pe(), what);
  ++failures;
}
void must(hipError_t error) {
  if (error != hipSuccess) nvshmem_global_exit(1);
}

template <typename E>
E* allocate(size_t n) {
  E* memory = static_cast<E*>(nvshmem_calloc(n, sizeof(E)));
  if (!memory) nvshmem_global_exit(1);
  return memory;
}
template <typename E>
std::vector<E> read(const E* from, size_t n) {
  std::vector<E> values(n);
  must(hipMemcpy(values.data(), from, n * sizeof(E), hipMemcpyDeviceToHost));
  return values;
}

// Each PE stores its number in its neighbour's variable.
__global__ void simple_shift(int* destination) {
  const int me = nvshmem_my_pe(), n = nvshmem_n_pes();
  nvshmem_int_p(destination, me, (me + 1) % n);
}

// A ring of blocks of data with a signal each, by a block.
__global__ void ring(long* data, uint64_t* flag, int n) {
  const int me = nvshmem_my_pe(), next = (me + 1) % nvshmem_n_pes();
  if (me != 0 && threadIdx.x == 0) nvshmem_signal_wait_until(flag, NVSHMEM_CMP_EQ, 1);
  __syncthreads();
  nvshmemx_long_put_signal_block(data, data, static_cast<size_t>(n), flag, 1, NVSHMEM_SIGNAL_SET,
                                 next);
  if (me == 0) nvshmemx_signal_wait_until_block(flag, NVSHMEM_CMP_EQ, 1);
}

__global__ void fill(long* data, int n, long value) {
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x))
    data[i] = value + i;
}

// Sums by a warp and a block, scattered sums, a broadcast, and a barrier of the team between them.
__global__ void collectives(nvshmem_team_t team, float* sum, float* source, float* part,
                            float* blocks, int* failed) {
  const int n = nvshmem_team_n_pes(team), me = nvshmem_team_my_pe(team);
  for (int i = static_cast<int>(threadIdx.x); i < 64; i += static_cast<int>(blockDim.x)) {
    source[i] = static_cast<float>(me + i);
    blocks[i] = static_cast<float>(i);
  }
  __syncthreads();
  nvshmemx_float_sum_reduce_block(team, sum, source, 64);
  const float ranks = static_cast<float>(n * (n - 1)) / 2;
  if (threadIdx.x == 0 && sum[5] != ranks + 5.0F * static_cast<float>(n)) *failed = 1;
  nvshmemx_barrier_block(team);
  nvshmemx_float_sum_reducescatter_block(team, part, blocks, 4);
  if (threadIdx.x == 0 && part[1] != static_cast<float>(n * (4 * me + 1))) *failed = 2;
  nvshmemx_barrier_block(team);
  nvshmemx_float_broadcast_block(team, sum, source, 64, n - 1);
  if (threadIdx.x == 0 && sum[3] != static_cast<float>(n - 1 + 3)) *failed = 3;
  if (threadIdx.x < static_cast<unsigned>(warpSize)) nvshmemx_barrier_warp(team);
}

// Puts and gets by a group begin and end with a meeting of it. So a put sends data that other
// threads have written, its source is free afterwards, and all threads see data that a get has
// brought.
__global__ void without_barriers(long* source, long* dest, long* back, int n, int* failed) {
  const int me = nvshmem_my_pe(), next = (me + 1) % nvshmem_n_pes();
  const int mine = n - 1 - static_cast<int>(threadIdx.x);
  source[mine] = 100L * me + mine;
  nvshmemx_long_put_block(dest, source, static_cast<size_t>(n), next);
  source[n - 1 - mine] = -1;
  nvshmem_quiet();
  nvshmemx_barrier_all_block();
  nvshmemx_long_get_block(back, dest, static_cast<size_t>(n), next);
  if (back[n - 1 - mine] != 100L * me + n - 1 - mine) *failed = 1;
  nvshmemx_barrier_all_block();
  if (threadIdx.x >= static_cast<unsigned>(warpSize)) return;
  source[mine] = mine;
  nvshmemx_long_put_nbi_warp(dest, source + n - warpSize, static_cast<size_t>(warpSize), next);
  nvshmem_quiet();
  nvshmemx_barrier_all_warp();
  if (dest[threadIdx.x] != n - warpSize + static_cast<long>(threadIdx.x)) *failed = 2;
}

// The greatest number that the PEs bring, and the PE that brings it.
__global__ void greatest(nvshmem_team_t team, double2* dest, double2* source) {
  const int me = nvshmem_team_my_pe(team);
  if (threadIdx.x == 0) source->x = (me * 7 + 3) % 5, source->y = me;
  __syncthreads();
  nvshmemx_double2_maxloc_reduce_block(team, dest, source, 1);
}

__global__ void count_everywhere(int* counter, float* halves, double* quarters, uint64_t* signal) {
  for (int pe = 0; pe < nvshmem_n_pes(); ++pe) {
    nvshmem_int_atomic_inc(counter, pe);
    nvshmemx_float_atomic_add(halves, 0.5F, pe);
    if (nvshmemx_double_atomic_fetch_add(quarters, 0.25, pe) < 0)
      nvshmemx_signal_op(signal, 999, 1, pe);
    nvshmemx_signal_op(signal, 2, NVSHMEM_SIGNAL_ADD, pe);
  }
  nvshmem_quiet();
  nvshmem_barrier_all();
}

__global__ void sum_of_team(nvshmem_team_t team, int* dest, int* source) {
  nvshmemx_int_sum_reduce_block(team, dest, source, 1);
}

// TEAM_SAME_MYPE_NODE: all PEs that have this number on their machines, on the host and in kernels.
void of_one_number_on_their_machines(hipStream_t stream, int on_node) {
  const nvshmem_team_t team = NVSHMEMX_TEAM_SAME_MYPE_NODE;
  const int me = nvshmem_team_my_pe(team), n = nvshmem_team_n_pes(team);
  expect(nvshmem_team_translate_pe(team, me, NVSHMEM_TEAM_WORLD) == nvshmem_my_pe(), "SAME_MYPE");
  int *sum = allocate<int>(2), *source = allocate<int>(1);
  nvshmemx_int_p_on_stream(source, on_node + 1, nvshmem_my_pe(), stream);
  nvshmemx_int_sum_reduce_on_stream(team, sum, source, 1, stream);
  hipLaunchKernelGGL(sum_of_team, dim3(1), dim3(64), 0, stream, team, sum + 1, source);
  must(hipStreamSynchronize(stream));
  expect(read(sum, 2) == std::vector<int>(2, n * (on_node + 1)), "sums of SAME_MYPE_NODE");
  // Each PE is in one such team.
  nvshmemx_int_p_on_stream(source, me == 0 ? n : 0, nvshmem_my_pe(), stream);
  nvshmemx_int_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, sum, source, 1, stream);
  must(hipStreamSynchronize(stream));
  expect(read(sum, 1)[0] == nvshmem_n_pes(), "the teams of all numbers have all PEs");
  nvshmem_free(source);
  nvshmem_free(sum);
}

// A short that a kernel waits for, and one that the host waits for.
__global__ void next_short(short* ivar, unsigned short* other) {
  const int next = (nvshmem_my_pe() + 1) % nvshmem_n_pes();
  nvshmem_short_p(ivar, -7, next);
  nvshmem_short_wait_until(ivar, NVSHMEM_CMP_EQ, -7);
  nvshmem_short_wait_until_all(ivar, 1, nullptr, NVSHMEM_CMP_LT, 0);
  nvshmem_ushort_p(other, 60000, next);
}
void waits_of_shorts(hipStream_t stream) {
  short* ivar = allocate<short>(1);
  unsigned short* other = allocate<unsigned short>(1);
  hipLaunchKernelGGL(next_short, dim3(1), dim3(1), 0, stream, ivar, other);
  nvshmem_ushort_wait_until(other, NVSHMEM_CMP_GT, 59999);
  expect(nvshmem_ushort_test(other, NVSHMEM_CMP_EQ, 60000) == 1, "ushort_test");
  must(hipStreamSynchronize(stream));
  expect(nvshmem_short_test(ivar, NVSHMEM_CMP_EQ, -7) == 1, "short_test");
  nvshmem_barrier_all();
  nvshmem_free(other);
  nvshmem_free(ivar);
}

void shift_and_ring(hipStream_t stream) {
  const int me = nvshmem_my_pe(), n = nvshmem_n_pes();
  int* destination = allocate<int>(1);
  hipLaunchKernelGGL(simple_shift, dim3(1), dim3(1), 0, stream, destination);
  nvshmemx_barrier_all_on_stream(stream);
  must(hipStreamSynchronize(stream));
  expect(read(destination, 1)[0] == (me + n - 1) % n, "simple_shift");

  const int on_node = nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE);
  expect(nvshmem_team_translate_pe(NVSHMEMX_TEAM_NODE, on_node, NVSHMEM_TEAM_WORLD) == me,
         "TEAM_NODE");
  of_one_number_on_their_machines(stream, on_node);

  long* data = allocate<long>(kElems);
  uint64_t* flag = allocate<uint64_t>(1);
  hipLaunchKernelGGL(fill, dim3(1), dim3(64), 0, stream, data, kElems, 100L * me);
  nvshmemx_barrier_all_on_stream(stream);
  int elems = kElems;
  void* arguments[] = {&data, &flag, &elems};
  int most_blocks = 0;
  expect(nvshmemx_collective_launch_query_gridsize(ring, dim3(64), arguments, 0, &most_blocks) == 0,
         "query_gridsize");
  expect(most_blocks >= 1, "a grid of a block");
  expect(nvshmemx_collective_launch(ring, dim3(1), dim3(64), arguments, 0, stream) == 0, "launch");
  nvshmemx_quiet_on_stream(stream);
  nvshmemx_barrier_all_on_stream(stream);
  must(hipStreamSynchronize(stream));
  expect(read(data, kElems)[kElems - 1] == kElems - 1, "ring");
  nvshmem_free(flag);
  nvshmem_free(data);
  nvshmem_free(destination);
}

void on_stream(hipStream_t stream) {
  const int me = nvshmem_my_pe(), n = nvshmem_n_pes();
  int* source = allocate<int>(kElems);
  int* dest = allocate<int>(static_cast<size_t>(kElems) * static_cast<size_t>(n));
  nvshmemx_int_p_on_stream(source, me + 1, me, stream);
  nvshmemx_sync_all_on_stream(stream);
  nvshmemx_int_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, dest, source, 1, stream);
  must(hipStreamSynchronize(stream));
  expect(read(dest, 1)[0] == n * (n + 1) / 2, "sum_reduce_on_stream");
  nvshmemx_int_fcollect_on_stream(NVSHMEM_TEAM_WORLD, dest, source, 1, stream);
  must(hipStreamSynchronize(stream));
  expect(read(dest, static_cast<size_t>(n))[static_cast<size_t>(n) - 1] == n, "fcollect");
  nvshmemx_barrier_all_on_stream(stream);
  nvshmemx_int_put_nbi_on_stream(dest, source, 1, (me + 1) % n, stream);
  nvshmemx_int_iput_on_stream(dest + 1, source, 3, 1, 2, (me + 1) % n, stream);
  nvshmemx_barrier_on_stream(NVSHMEM_TEAM_WORLD, stream);
  must(hipStreamSynchronize(stream));
  expect(read(dest, 2)[1] == (me + n - 1) % n + 1, "iput_on_stream");
  nvshmem_free(dest);
  nvshmem_free(source);
}

// bfloat16, whose upper bits are those of a float: from every PE to the next, and to all.
void short_floats_on_stream(hipStream_t stream) {
  const int me = nvshmem_my_pe(), n = nvshmem_n_pes();
  auto* all = static_cast<meshmem_bfloat16*>(nvshmem_calloc(static_cast<size_t>(n) + 2, 2));
  nvshmemx_bfloat16_p_on_stream(all, meshmem_bfloat16(static_cast<float>(me)), (me + 1) % n,
                                stream);
  nvshmemx_barrier_all_on_stream(stream);
  nvshmemx_bfloat16_fcollect_on_stream(NVSHMEM_TEAM_WORLD, all + 2, all, 1, stream);
  nvshmemx_bfloat16_put_on_stream(all + 1, all + 2, 1, (me + 1) % n, stream);
  nvshmemx_flush_on_stream(stream);
  nvshmemx_barrier_all_on_stream(stream);
  must(hipStreamSynchronize(stream));
  std::vector<uint16_t> bits(static_cast<size_t>(n) + 2);
  must(hipMemcpy(bits.data(), all, bits.size() * 2, hipMemcpyDeviceToHost));
  expect(bits[1] == bits[2], "put_on_stream of bfloat16");
  for (int pe = 0; pe < n; ++pe) {
    const float wanted = static_cast<float>((pe + n - 1) % n);
    const uint32_t whole = uint32_t{bits[static_cast<size_t>(pe) + 2]} << 16;
    float found;
    std::memcpy(&found, &whole, sizeof found);
    expect(found == wanted, "fcollect_on_stream of bfloat16");
  }
  nvshmem_free(all);
}

void teams_and_atomics(hipStream_t stream) {
  const int n = nvshmem_n_pes();
  nvshmem_team_t reversed = NVSHMEM_TEAM_INVALID;
  expect(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, n - 1, -1, n, nullptr, 0, &reversed) == 0,
         "split");
  nvshmem_team_config_t config = NVSHMEM_TEAM_CONFIG_INITIALIZER;
  nvshmemx_team_uniqueid_t mine = 0;
  expect(nvshmemx_team_get_uniqueid(&mine) == 0, "get_uniqueid");
  uint64_t* ids = allocate<uint64_t>(2);
  must(hipMemcpy(ids, &mine, sizeof mine, hipMemcpyHostToDevice));
  nvshmem_uint64_broadcast(NVSHMEM_TEAM_WORLD, ids + 1, ids, 1, n - 1);
  config.uniqueid = read(ids, 2)[1];
  nvshmem_team_t joined = NVSHMEM_TEAM_INVALID;
  expect(nvshmemx_team_init(&joined, &config, NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID, n,
                            n - 1 - nvshmem_my_pe()) == 0,
         "team_init");
  expect(nvshmem_team_my_pe(joined) == nvshmem_team_my_pe(reversed), "team_init is in order");
  expect(nvshmem_barrier(joined) == 0, "barrier of a team by an id");
  nvshmem_team_destroy(joined);
  nvshmem_free(ids);
  float *sum = allocate<float>(64), *source = allocate<float>(64), *part = allocate<float>(64),
        *blocks = allocate<float>(64);
  int* failed = allocate<int>(1);
  hipLaunchKernelGGL(collectives, dim3(1), dim3(64), 0, stream, reversed, sum, source, part, blocks,
                     failed);
  must(hipStreamSynchronize(stream));
  expect(read(failed, 1)[0] == 0, "collectives of a team");
  long* buffers = allocate<long>(3 * 64);
  hipLaunchKernelGGL(without_barriers, dim3(1), dim3(64), 0, stream, buffers, buffers + 64,
                     buffers + 128, 64, failed);
  must(hipStreamSynchronize(stream));
  expect(read(failed, 1)[0] == 0, "puts and gets by groups meet");
  nvshmem_barrier_all();
  nvshmem_free(buffers);
  double2* pairs = allocate<double2>(2);
  hipLaunchKernelGGL(greatest, dim3(1), dim3(64), 0, stream, NVSHMEM_TEAM_WORLD, pairs, pairs + 1);
  must(hipStreamSynchronize(stream));
  int where = 0;
  for (int pe = 1; pe < n; ++pe)
    if ((pe * 7 + 3) % 5 > (where * 7 + 3) % 5) where = pe;
  const double2 found = read(pairs, 1)[0];
  expect(found.x == (where * 7 + 3) % 5 && found.y == where, "maxloc");
  nvshmem_free(pairs);
  int* counter = allocate<int>(1);
  uint64_t* signal = allocate<uint64_t>(1);
  float* halves = allocate<float>(1);
  double* quarters = allocate<double>(1);
  hipLaunchKernelGGL(count_everywhere, dim3(1), dim3(1), 0, stream, counter, halves, quarters,
                     signal);
  must(hipStreamSynchronize(stream));
  expect(read(counter, 1)[0] == n, "atomic_inc");
  expect(read(halves, 1)[0] == static_cast<float>(n) / 2, "float_atomic_add");
  expect(read(quarters, 1)[0] == n / 4.0, "double_atomic_fetch_add");
  expect(nvshmem_signal_fetch(signal) == 2 * static_cast<uint64_t>(n), "signal_op");
  expect(nvshmem_barrier(reversed) == 0, "barrier of a team, by the host");
  nvshmem_team_destroy(reversed);
  for (void* memory :
       {static_cast<void*>(sum), static_cast<void*>(source), static_cast<void*>(part),
        static_cast<void*>(blocks), static_cast<void*>(failed), static_cast<void*>(counter),
        static_cast<void*>(signal), static_cast<void*>(halves), static_cast<void*>(quarters)})
    nvshmem_free(memory);
}

}  // namespace

int main() {
  nvshmem_init();
  const int me = nvshmem_my_pe(), n = nvshmem_n_pes();
  nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
  nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
  expect(nvshmemx_get_uniqueid(&id) == 0, "unique identifier");
  nvshmemx_set_attr_uniqueid_args(me, n, &id, &attributes);
  expect(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes) == 0,
         "init by an identifier");
  nvshmemx_hostlib_finalize();
  hipStream_t stream = nullptr;
  must(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  waits_of_shorts(stream);
  shift_and_ring(stream);
  on_stream(stream);
  short_floats_on_stream(stream);
  teams_and_atomics(stream);
  must(hipStreamDestroy(stream));
  nvshmem_finalize();
  return failures == 0 ? 0 : 1;
}
