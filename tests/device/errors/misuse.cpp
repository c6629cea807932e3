// SPDX-License-Identifier: Apache-2.0
//
// Mistakes in kernels and in calls on streams that end the job: `device_misuse MISTAKE` makes one.
// Mostly the last PE makes it, while the others wait in a barrier.
// Invariant: compiled with checks in kernels, because only then kernels print mistakes. Run by the
// tests in this folder's CMakeLists.txt, which compare the line that the mistake prints.
#include <hip/hip_runtime.h>
#include <pshmem.h>
#include <shmem.h>
#include <shmemx.h>

#include <cstdio>
#include <cstring>
#include <meshmem/moe.hpp>

namespace {

__device__ long device_variable;

__global__ void put_to_variable() { shmem_long_p(&device_variable, 1, 0); }
__global__ void put_to_stack() {
  long local[2] = {1, 2};
  shmem_long_put(local, local + 1, 1, 0);
}
__global__ void atomic_on(long* address) { shmem_long_atomic_inc(address, 0); }
__global__ void get_from_pe(long* heap, int pe) { heap[1] = shmem_long_g(heap, pe); }
__global__ void signal_pe(uint64_t* heap, int pe) {
  shmemx_signal_wait_until_block(heap, SHMEM_CMP_EQ, 0);
  if (threadIdx.x == 3) shmem_signal_add(heap, 1, pe);
}
__global__ void wait_on_stack() {
  long local = 1;
  shmem_long_wait_until(&local, SHMEM_CMP_EQ, 1);
}
__global__ void test_variable() { shmem_long_test(&device_variable, SHMEM_CMP_EQ, 0); }
__global__ void sum_on_stack() {
  long local[2] = {1, 2};
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, local, local + 1, 1);
}
__global__ void gather_into(long* dest, long* source) {
  shmemx_long_fcollect_block(SHMEM_TEAM_WORLD, dest, source, 1);
}
__global__ void choose_expert(shmemx_moe_view_t view, int* indices) {
  meshmem::moe::count(view, indices, 2, meshmem::moe::alone());
}
__global__ void meet_all() { shmemx_barrier_all_block(); }
__global__ void exchange_nothing(long* heap, const size_t* zeros) {
  shmemx_long_alltoallv_block(SHMEM_TEAM_WORLD, heap, zeros, zeros, heap + 4, zeros, zeros);
}
__global__ void broadcast_from(long* heap, int root) {
  shmemx_long_broadcast_block(SHMEM_TEAM_WORLD, heap, heap + 1, 1, root);
}
__global__ void add_up(long* dest, long* source, size_t n) {
  shmemx_long_sum_reduce_block(SHMEM_TEAM_WORLD, dest, source, n);
}
__global__ void add_up_alone(long* heap, size_t n) {
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, heap, heap + 4, n);
}
__global__ void find_greatest(long* heap) {
  shmemx_long_max_reduce_block(SHMEM_TEAM_WORLD, heap, heap + 4, 1);
}
__global__ void add_up_as_int(int* heap) {
  shmemx_int_sum_reduce_block(SHMEM_TEAM_WORLD, heap, heap + 4, 1);
}
__global__ void add_up_by_wave(long* heap) {
  shmemx_long_sum_reduce_wave(SHMEM_TEAM_WORLD, heap, heap + 4, 1);
}
__global__ void put_many(long* heap, size_t n) { shmem_long_put(heap, heap + 4, n, 0); }
__global__ void get_many(long* heap, size_t n) { shmem_long_iget(heap, heap + 4, 1, 1, n, 0); }
__global__ void wait_by(long* heap, int cmp) { shmem_long_wait_until(heap, cmp, 1); }
__global__ void put_with_signal(long* heap, int sig_op) {
  shmem_long_put_signal(heap, heap + 1, 1, reinterpret_cast<uint64_t*>(heap + 2), 1, sig_op, 0);
}
__global__ void put_by_part(long* heap) {
  if (threadIdx.x < 16) shmemx_long_put_block(heap, heap + 1, 1, 0);
}
__global__ void put_by_part_of_wave(long* heap) {
  if (threadIdx.x < 37) shmemx_long_put_wave(heap, heap + 1, 1, 0);
}
__global__ void meet_by_part() {
  if (threadIdx.x % 2 == 0) shmemx_barrier_all_block();
}
__global__ void meet_by_part_beside_a_barrier() {
  if (threadIdx.x % 2 == 0)
    shmemx_barrier_all_block();
  else
    __syncthreads();
}
__global__ void meet_by_part_of_grid() {
  if (blockIdx.x < 2) shmemx_barrier_all_grid();
}
__global__ void call_two_routines(long* heap) {
  if (threadIdx.x < 32)
    shmemx_long_put_block(heap, heap + 1, 1, 0);
  else
    shmemx_long_get_block(heap, heap + 1, 1, 0);
}
__global__ void p_at(char* address) { shmem_long_p(reinterpret_cast<long*>(address), 1, 0); }
__global__ void add_at(char* address) {
  shmem_long_atomic_add(reinterpret_cast<long*>(address), 1, 0);
}
__global__ void signal_at(char* address) {
  shmem_signal_add(reinterpret_cast<uint64_t*>(address), 1, 0);
}
__global__ void wait_at(char* address) {
  shmem_long_wait_until(reinterpret_cast<long*>(address), SHMEM_CMP_EQ, 0);
}
__global__ void put_strided(long* heap, ptrdiff_t dst, ptrdiff_t sst, size_t bsize) {
  shmem_long_ibput(heap, heap + 4, dst, sst, bsize, 2, 0);
}
__global__ void exchange_strided(long* heap, ptrdiff_t dst) {
  shmem_long_alltoalls(SHMEM_TEAM_WORLD, heap, heap + 4, dst, 1, 2);
}
__global__ void store_at(int* address) { *address = 1; }

__global__ void sum_by_all_blocks(long* heap) {
  shmemx_long_sum_reduce_block(SHMEM_TEAM_WORLD, heap + 1, heap, 1);
}
__global__ void meet_by_all_blocks() { shmemx_team_sync_block(SHMEM_TEAM_SHARED); }
__global__ void sync_no_team() { shmemx_team_sync_block(SHMEM_TEAM_INVALID); }
__global__ void meet_as_grid() { shmemx_barrier_all_grid(); }

#ifdef MESHMEM_TARGET_IS_CPU  // other compilers refuse these
__global__ void allocate(long* heap) { heap[0] = shmem_malloc(8) != nullptr; }
__global__ void destroy_team() { shmem_team_destroy(SHMEM_TEAM_WORLD); }
__global__ void put_long_double(void* heap) {
  long double value = 1;
  shmem_put(static_cast<long double*>(heap), &value, 1, 0);
}
__global__ void put_in_context(void* heap) {
  long double value = 1;
  shmem_ctx_longdouble_put(SHMEM_CTX_DEFAULT, static_cast<long double*>(heap), &value, 1, 0);
}
__global__ void add_by_old_name(long* heap) { shmem_long_add(heap, 1, 0); }
__global__ void ask_by_old_name(long* heap) { heap[0] = _my_pe(); }
__global__ void allocate_as_a_tool(long* heap) { heap[0] = pshmem_malloc(8) != nullptr; }
__global__ void unregister(long* heap) { shmemx_buffer_unregister(heap); }
__global__ void put_on_stream(long* heap) {
  shmemx_putmem_on_stream(heap, heap + 1, 8, 0, nullptr);
}

void call_the_host(const char* mistake, long* heap) {
  const auto is = [mistake](const char* name) { return std::strcmp(mistake, name) == 0; };
  if (is("malloc")) hipLaunchKernelGGL(allocate, dim3(1), dim3(1), 0, nullptr, heap);
  if (is("team_destroy")) hipLaunchKernelGGL(destroy_team, dim3(1), dim3(1), 0, nullptr);
  if (is("long_double")) hipLaunchKernelGGL(put_long_double, dim3(1), dim3(1), 0, nullptr, heap);
  if (is("long_double_context"))
    hipLaunchKernelGGL(put_in_context, dim3(1), dim3(1), 0, nullptr, heap);
  if (is("old_add")) hipLaunchKernelGGL(add_by_old_name, dim3(1), dim3(1), 0, nullptr, heap);
  if (is("old_my_pe")) hipLaunchKernelGGL(ask_by_old_name, dim3(1), dim3(1), 0, nullptr, heap);
  if (is("pshmem_malloc"))
    hipLaunchKernelGGL(allocate_as_a_tool, dim3(1), dim3(1), 0, nullptr, heap);
  if (is("unregister")) hipLaunchKernelGGL(unregister, dim3(1), dim3(1), 0, nullptr, heap);
  if (is("on_stream")) hipLaunchKernelGGL(put_on_stream, dim3(1), dim3(1), 0, nullptr, heap);
}
#else
void call_the_host(const char*, long*) {}
#endif

void call_by_part(const char* mistake, long* heap) {
  const auto is = [mistake](const char* name) { return std::strcmp(mistake, name) == 0; };
  if (is("part_of_block")) hipLaunchKernelGGL(put_by_part, dim3(1), dim3(40), 0, nullptr, heap);
  if (is("part_of_wave"))
    hipLaunchKernelGGL(put_by_part_of_wave, dim3(1), dim3(64), 0, nullptr, heap);
  if (is("part_meets")) hipLaunchKernelGGL(meet_by_part, dim3(1), dim3(40), 0, nullptr);
  if (is("part_beside_a_barrier"))
    hipLaunchKernelGGL(meet_by_part_beside_a_barrier, dim3(1), dim3(40), 0, nullptr);
  if (is("two_routines"))
    hipLaunchKernelGGL(call_two_routines, dim3(1), dim3(64), 0, nullptr, heap);
  if (is("part_of_grid")) {
    (void)hipLaunchCooperativeKernel(meet_by_part_of_grid, dim3(3), dim3(40), nullptr, 0, nullptr);
  }
}

void pass_bad_values(const char* mistake, long* heap) {
  const auto is = [mistake](const char* name) { return std::strcmp(mistake, name) == 0; };
  auto* const odd = reinterpret_cast<char*>(heap) + 4;
  const dim3 one(1);
  if (is("odd_p") || is("place")) hipLaunchKernelGGL(p_at, one, one, 0, nullptr, odd);
  if (is("odd_atomic")) hipLaunchKernelGGL(add_at, one, one, 0, nullptr, odd);
  if (is("odd_signal")) hipLaunchKernelGGL(signal_at, one, one, 0, nullptr, odd);
  if (is("odd_wait")) hipLaunchKernelGGL(wait_at, one, one, 0, nullptr, odd);
  if (is("no_dst")) hipLaunchKernelGGL(put_strided, one, one, 0, nullptr, heap, 0, 1, 1);
  if (is("no_sst")) hipLaunchKernelGGL(put_strided, one, one, 0, nullptr, heap, 1, 0, 1);
  if (is("no_block")) hipLaunchKernelGGL(put_strided, one, one, 0, nullptr, heap, 1, 1, 0);
  if (is("no_alltoalls")) hipLaunchKernelGGL(exchange_strided, one, one, 0, nullptr, heap, 0);
  if (is("bad_address"))
    hipLaunchKernelGGL(store_at, one, one, 0, nullptr, reinterpret_cast<int*>(16));
}

// Counts whose number of bytes does not fit into a size_t, and a dest that begins within the
// source.
void pass_bad_sizes(const char* mistake, long* heap) {
  const auto is = [mistake](const char* name) { return std::strcmp(mistake, name) == 0; };
  const dim3 one(1), block(40);
  const size_t two_and_a_wrap = (size_t{1} << 61) + 2;
  if (is("kernel_count_overflow"))
    hipLaunchKernelGGL(put_many, one, one, 0, nullptr, heap, two_and_a_wrap);
  if (is("kernel_negative_count"))
    hipLaunchKernelGGL(get_many, one, one, 0, nullptr, heap, static_cast<size_t>(-1));
  if (is("kernel_sum_overflow"))
    hipLaunchKernelGGL(add_up, one, block, 0, nullptr, heap, heap, two_and_a_wrap);
  if (is("kernel_overlap")) hipLaunchKernelGGL(add_up, one, block, 0, nullptr, heap, heap + 1, 2);
  if (is("kernel_gather_overlap"))
    hipLaunchKernelGGL(gather_into, one, block, 0, nullptr, heap, heap);
}

void make(const char* mistake, long* heap) {
  const auto is = [mistake](const char* name) { return std::strcmp(mistake, name) == 0; };
  static long variable;
  if (is("variable")) hipLaunchKernelGGL(put_to_variable, dim3(1), dim3(1), 0, nullptr);
  if (is("stack")) hipLaunchKernelGGL(put_to_stack, dim3(1), dim3(1), 0, nullptr);
  if (is("host_variable")) hipLaunchKernelGGL(atomic_on, dim3(1), dim3(1), 0, nullptr, &variable);
  if (is("null")) hipLaunchKernelGGL(atomic_on, dim3(1), dim3(1), 0, nullptr, nullptr);
  if (is("wait_on_stack")) hipLaunchKernelGGL(wait_on_stack, dim3(1), dim3(1), 0, nullptr);
  if (is("test_variable")) hipLaunchKernelGGL(test_variable, dim3(1), dim3(1), 0, nullptr);
  if (is("sum_on_stack")) hipLaunchKernelGGL(sum_on_stack, dim3(1), dim3(1), 0, nullptr);
  if (is("gather_into_host"))
    hipLaunchKernelGGL(gather_into, dim3(1), dim3(40), 0, nullptr, &variable, heap);
  if (is("no_way")) hipLaunchKernelGGL(meet_all, dim3(1), dim3(40), 0, nullptr);
  if (is("pe")) hipLaunchKernelGGL(get_from_pe, dim3(1), dim3(1), 0, nullptr, heap, 9);
  if (is("negative_pe")) {
    hipLaunchKernelGGL(signal_pe, dim3(2), dim3(40), 0, nullptr, reinterpret_cast<uint64_t*>(heap),
                       -1);
  }
  if (is("not_cooperative")) hipLaunchKernelGGL(meet_as_grid, dim3(3), dim3(40), 0, nullptr);
  call_the_host(mistake, heap);
  call_by_part(mistake, heap);
  pass_bad_values(mistake, heap);
  pass_bad_sizes(mistake, heap);
  // The block has 64 bytes. The host finds the mistake, so no kernel accesses memory beyond them.
  if (is("sum_beyond"))
    shmemx_long_sum_reduce_on_stream(SHMEM_TEAM_WORLD, heap, heap, 1 << 28, nullptr);
  if (is("gather_beyond"))
    shmemx_fcollectmem_on_stream(SHMEM_TEAM_WORLD, heap, heap, 1 << 30, nullptr);
  if (is("host_sum_beyond")) shmem_long_sum_reduce(SHMEM_TEAM_WORLD, heap, heap, 1 << 28);
  if (is("host_alltoalls_beyond"))
    shmem_long_alltoalls(SHMEM_TEAM_WORLD, heap, heap, 1, 1 << 28, 4);
  auto* const unaligned = reinterpret_cast<uint64_t*>(reinterpret_cast<char*>(heap) + 4);
  if (is("unaligned_signal_on_stream"))
    shmemx_signal_op_on_stream(unaligned, 1, SHMEM_SIGNAL_SET, 0, nullptr);
  if (is("unaligned_put_signal_on_stream"))
    shmemx_putmem_signal_on_stream(heap + 2, heap + 3, 8, unaligned, 1, SHMEM_SIGNAL_ADD, 0,
                                   nullptr);
  if (is("far_on_stream")) shmemx_putmem_on_stream(heap, heap + 1, 8, 0, nullptr);
  if (is("no_part")) shmem_long_collect(SHMEM_TEAM_WORLD, heap, nullptr, 1);
  if (is("no_root") || is("place_of_block"))
    hipLaunchKernelGGL(broadcast_from, dim3(1), dim3(40), 0, nullptr, heap, 2);
  if (is("no_comparison")) hipLaunchKernelGGL(wait_by, dim3(1), dim3(1), 0, nullptr, heap, 77);
  if (is("no_signal_op"))
    hipLaunchKernelGGL(put_with_signal, dim3(1), dim3(1), 0, nullptr, heap, 999);
  if (is("no_way_to_pe")) hipLaunchKernelGGL(get_from_pe, dim3(1), dim3(1), 0, nullptr, heap, 0);
  if (is("no_team")) hipLaunchKernelGGL(sync_no_team, dim3(1), dim3(40), 0, nullptr);
}

// Uses addresses inside the block of an allocation that failed on all PEs.
void use_failed_allocation(const char* mistake, char* none) {
  const auto is = [mistake](const char* name) { return std::strcmp(mistake, name) == 0; };
  const dim3 one(1);
  if (is("failed_store"))
    hipLaunchKernelGGL(store_at, one, one, 0, nullptr, reinterpret_cast<int*>(none + 64));
  if (is("failed_p")) hipLaunchKernelGGL(p_at, one, one, 0, nullptr, none + 64);
  if (is("failed_far_p")) hipLaunchKernelGGL(p_at, one, one, 0, nullptr, none + (1 << 20));
}

// Mistakes in which the PEs' kernels differ: mostly the last PE launches another kernel or passes
// other arguments, and the PE that calls later finds the difference. Returns false if `mistake` is
// another one.
bool launch_differently(const char* mistake, long* heap) {
  const auto is = [mistake](const char* name) { return std::strcmp(mistake, name) == 0; };
  const bool am_last = shmem_my_pe() == shmem_n_pes() - 1;
  const size_t n = am_last ? 2 : 3;
  const dim3 one(1), block(40);
  // The other PEs never come, so the first of two blocks is still inside when the second one calls.
  if (is("two_blocks")) {
    if (am_last) hipLaunchKernelGGL(sum_by_all_blocks, dim3(2), block, 0, nullptr, heap);
  } else if (is("two_blocks_meet")) {
    if (am_last) hipLaunchKernelGGL(meet_by_all_blocks, dim3(2), block, 0, nullptr);
  } else if (is("late_wait")) {
    hipLaunchKernelGGL(wait_by, one, one, 0, nullptr, heap, int{SHMEM_CMP_EQ});
  } else if (is("kernel_count")) {
    hipLaunchKernelGGL(add_up, one, block, 0, nullptr, heap, heap + 4, n);
  } else if (is("kernel_count_alone")) {
    hipLaunchKernelGGL(add_up_alone, one, one, 0, nullptr, heap, n);
  } else if (is("kernel_root")) {
    hipLaunchKernelGGL(broadcast_from, one, block, 0, nullptr, heap, am_last ? 1 : 0);
  } else if (!am_last && std::strncmp(mistake, "kernel_other_", 13) == 0) {
    hipLaunchKernelGGL(add_up, one, block, 0, nullptr, heap, heap + 4, 1);
  } else if (is("kernel_other_routine")) {
    hipLaunchKernelGGL(meet_all, one, block, 0, nullptr);
  } else if (is("kernel_other_lengths")) {
    hipLaunchKernelGGL(exchange_nothing, one, block, 0, nullptr, heap,
                       reinterpret_cast<const size_t*>(heap + 2));
  } else if (is("kernel_other_operation")) {
    hipLaunchKernelGGL(find_greatest, one, block, 0, nullptr, heap);
  } else if (is("kernel_other_type")) {
    hipLaunchKernelGGL(add_up_as_int, one, block, 0, nullptr, reinterpret_cast<int*>(heap));
  } else if (is("kernel_other_group")) {
    hipLaunchKernelGGL(add_up_by_wave, one, dim3(32), 0, nullptr, heap);
  } else {
    return false;
  }
  return true;
}

// Mistakes in calls on streams, which the host finds when it puts kernels on the streams. Returns
// false if `mistake` is another one.
bool call_differently(const char* mistake, long* heap) {
  const bool am_last = shmem_my_pe() == shmem_n_pes() - 1;
  if (std::strcmp(mistake, "stream_count") == 0) {
    shmemx_long_sum_reduce_on_stream(SHMEM_TEAM_WORLD, heap, heap, am_last ? 2 : 3, nullptr);
  } else if (std::strcmp(mistake, "stream_routine") == 0) {
    if (am_last)
      shmemx_broadcastmem_on_stream(SHMEM_TEAM_WORLD, heap, heap, 8, 0, nullptr);
    else
      shmemx_fcollectmem_on_stream(SHMEM_TEAM_WORLD, heap, heap + 2, 8, nullptr);
  } else if (std::strcmp(mistake, "stream_free") == 0) {
    void* block = shmem_malloc_with_hints(64, SHMEMX_MALLOC_DEVICE);
    shmemx_signal_wait_until_on_stream(reinterpret_cast<uint64_t*>(heap), SHMEM_CMP_EQ, 1, nullptr);
    shmemx_putmem_on_stream(block, heap, 8, 0, nullptr);
    shmem_free(block);
  } else if (std::strcmp(mistake, "mark_in_capture") == 0) {
    hipStream_t stream = nullptr;
    shmemx_mark_t mark = nullptr;
    (void)hipStreamCreateWithFlags(&stream, hipStreamNonBlocking);
    shmemx_quiet_on_stream(stream);
    shmemx_stream_mark(&mark, stream);
    (void)hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed);
    shmemx_stream_mark_wait(&mark);
  } else if (std::strcmp(mistake, "foreign_stream") == 0) {
    int own = 0, devices = 1;
    hipStream_t stream = nullptr;
    (void)hipGetDevice(&own);
    (void)hipGetDeviceCount(&devices);
    (void)hipSetDevice((own + 1) % devices);
    (void)hipStreamCreate(&stream);
    (void)hipSetDevice(own);
    shmemx_putmem_on_stream(heap, heap + 1, 8, 0, nullptr);  // the default stream is right
    shmemx_putmem_on_stream(heap, heap + 1, 8, 0, stream);
  } else {
    return false;
  }
  shmem_barrier_all();
  std::printf("still alive\n");
  return true;
}

// All PEs make the handle, and each makes the mistake. Returns false if it is another mistake.
bool misuse_experts(const char* mistake, long* heap) {
  const auto is = [mistake](const char* name) { return std::strcmp(mistake, name) == 0; };
  if (std::strncmp(mistake, "moe_", 4) != 0) return false;
  shmemx_moe_shape_t shape{};
  shape.type = is("moe_scales") ? SHMEMX_MOE_FP8 : SHMEMX_MOE_FLOAT;
  shape.hidden = shape.top_k = 1;
  shape.experts = shape.max_tokens = 4;
  shmemx_moe_t moe = nullptr;
  if (shmemx_moe_create(SHMEM_TEAM_WORLD, &shape, &moe) != 0) return false;
  shmemx_moe_view_t view;
  shmemx_moe_view(moe, &view);
  auto* const zeros = reinterpret_cast<int*>(heap);
  auto* const numbers = reinterpret_cast<float*>(heap);
  if (is("moe_index")) {
    const int index = 9;
    (void)hipMemcpy(zeros + 1, &index, sizeof index, hipMemcpyHostToDevice);
    hipLaunchKernelGGL(choose_expert, dim3(1), dim3(40), 0, nullptr, view, zeros);
    (void)hipDeviceSynchronize();
  } else if (!is("moe_before_plan")) {
    shmemx_moe_plan_on_stream(moe, zeros, is("moe_tokens") ? 5 : 4, nullptr);
  }
  void* own = nullptr;
  (void)hipMalloc(&own, 4096);
  shmemx_moe_dispatch_on_stream(moe, numbers, nullptr, nullptr);
  if (is("moe_twice")) shmemx_moe_dispatch_on_stream(moe, numbers, nullptr, nullptr);
  shmemx_moe_combine_on_stream(moe, is("moe_results") ? own : view.results,
                               is("moe_weights") ? nullptr : numbers, own, nullptr);
  (void)hipDeviceSynchronize();
  std::printf("still alive\n");
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "too_early") == 0) {
    hipLaunchKernelGGL(meet_all, dim3(1), dim3(1), 0, nullptr);
    (void)hipDeviceSynchronize();
  }
  shmem_init();
  auto* heap = static_cast<long*>(shmem_malloc_with_hints(64, SHMEMX_MALLOC_DEVICE));
  if (argc != 2 || !heap || hipMemset(heap, 0, 64) != hipSuccess) {
    std::fprintf(stderr, "misuse: name one mistake; a device must be there\n");
    return 2;
  }
  void* none = nullptr;
  if (std::strncmp(argv[1], "failed_", 7) == 0)
    none = shmem_malloc_with_hints(size_t{1} << 50, SHMEMX_MALLOC_DEVICE);
  shmem_barrier_all();
  if (call_differently(argv[1], heap) || misuse_experts(argv[1], heap)) return 0;
  const bool all_launch = launch_differently(argv[1], heap);
  if (all_launch || shmem_my_pe() == shmem_n_pes() - 1) {
    if (!all_launch) {
      make(argv[1], heap);
      use_failed_allocation(argv[1], static_cast<char*>(none));
    }
    const hipError_t error = hipDeviceSynchronize();
    if (error != hipSuccess) {
      std::fprintf(stderr, "misuse: the kernel ended with: %s\n", hipGetErrorString(error));
      shmem_global_exit(3);
    }
    if (std::strcmp(argv[1], "too_late") != 0) std::printf("still alive\n");
  }
  shmem_barrier_all();
  shmem_finalize();
  if (std::strcmp(argv[1], "too_late") == 0) {
    hipLaunchKernelGGL(meet_all, dim3(1), dim3(1), 0, nullptr);
    if (hipDeviceSynchronize() != hipSuccess) return 3;
    std::printf("still alive\n");
  }
  return 0;
}
