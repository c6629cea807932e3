// SPDX-License-Identifier: Apache-2.0
//
// A program that makes one mistake, named by its argument, on the job's last PE while the others
// wait in a barrier. Run by expect_ending.cmake, which knows what it must print and how it must
// end.
// Invariant: code after a mistake that ends the job prints "still alive", which no expectation
// allows.
#include <shmemx.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>

namespace {

long global;
unsigned long unsigned_longs[2];
long* heap;  // of 64 bytes
int me, n;

template <typename T>
T* off_by_four(T* words) {
  return reinterpret_cast<T*>(reinterpret_cast<char*>(words) + 4);
}

constexpr std::size_t kTooMany = SIZE_MAX / sizeof(long) + 2;  // overflows to one element
constexpr std::size_t kBeyond = 1 << 30;

// Each call should end in the check of its arguments.
const std::map<std::string, void (*)()> kMistakes = {
    {"p_pe", [] { shmem_long_p(&global, 1, 9); }},
    {"g_pe", [] { shmem_long_g(&global, n); }},
    {"put_pe", [] { shmem_putmem(&global, &me, 4, -1); }},
    {"get_pe", [] { shmem_int_get(&me, &me, 1, 1 << 30); }},
    {"put_nbi_pe", [] { shmem_double_put_nbi(nullptr, nullptr, 0, n); }},
    {"iput_pe", [] { shmem_long_iput(&global, &global, 1, 1, 1, n); }},
    {"ibget_pe", [] { shmem_ibget64(&global, &global, 1, 1, 1, 1, n); }},
    {"atomic_pe", [] { shmem_long_atomic_fetch_add(&global, 1, -2147483647 - 1); }},
    {"signal_pe", [] { shmem_signal_add(reinterpret_cast<uint64_t*>(&global), 1, n); }},
    {"put_signal_pe",
     [] {
       shmem_putmem_signal(&global, &me, 1, reinterpret_cast<uint64_t*>(&global), 1,
                           SHMEM_SIGNAL_SET, n);
     }},
    {"ctx_pe", [] { shmem_ctx_long_p(SHMEM_CTX_DEFAULT, &global, 1, 9); }},
    {"team_ctx_pe",
     [] {
       shmem_ctx_t ctx;
       shmem_team_create_ctx(SHMEM_TEAM_SHARED, 0, &ctx);
       shmem_ctx_long_p(ctx, &global, 1, n);
     }},
    {"no_team", [] { shmem_team_sync(reinterpret_cast<shmem_team_t>(7)); }},
    {"no_context_team",
     [] { shmem_ctx_long_p(reinterpret_cast<shmem_ctx_t>(0x10007), &global, 1, 0); }},
    {"no_session_context",
     [] { shmem_ctx_session_start(reinterpret_cast<shmem_ctx_t>(0x10007), 0, nullptr, 0); }},
    {"put_stack",
     [] {
       long local = 0;
       shmem_long_put(&local, &global, 1, 0);
     }},
    {"get_stack",
     [] {
       long local = 0;
       shmem_long_get(&global, &local, 1, 0);
     }},
    {"atomic_heap_of_malloc", [] { shmem_int_atomic_inc(static_cast<int*>(std::malloc(8)), 0); }},
    {"signal_stack",
     [] {
       uint64_t local = 0;
       shmem_long_put_signal(&global, &global, 1, &local, 1, SHMEM_SIGNAL_SET, 0);
     }},
    {"p_null", [] { shmem_int_p(nullptr, 1, 0); }},
    {"unaligned_add", [] { shmem_long_atomic_add(off_by_four(heap), 1, 0); }},
    {"unaligned_fetch", [] { shmem_ulong_atomic_fetch(off_by_four(unsigned_longs), 0); }},
    {"unaligned_signal", [] { shmem_signal_set(off_by_four(unsigned_longs), 1, 0); }},
    {"unaligned_wait", [] { shmem_long_wait_until(off_by_four(heap), SHMEM_CMP_EQ, 0); }},
    {"unaligned_test", [] { shmem_long_test(off_by_four(heap), SHMEM_CMP_EQ, 0); }},
    {"unaligned_lock", [] { shmem_set_lock(off_by_four(heap)); }},
    {"unaligned_put_signal",
     [] {
       shmem_long_put_signal(heap, heap + 1, 1, off_by_four(unsigned_longs), 1, SHMEM_SIGNAL_SET,
                             0);
     }},
    {"sig_op",
     [] { shmem_putmem_signal(&global, &me, 1, reinterpret_cast<uint64_t*>(&global), 1, 77, 0); }},
    {"set_too_large", [] { shmem_barrier(1, 1, 3, &global); }},
    {"set_empty", [] { shmem_fcollect32(&global, &global, 1, 3, 0, 0, &global); }},
    {"set_of_others", [] { shmem_int_sum_to_all(&me, &me, 1, 0, 1, 2, &me, &global); }},
    {"set_root", [] { shmem_broadcast64(&global, &global, 1, n, 0, 0, n, &global); }},
    {"count_put", [] { shmem_long_put(&global, &global, kTooMany, 0); }},
    {"count_negative", [] { shmem_long_put(&global, &global, static_cast<size_t>(-1), 0); }},
    {"count_of_bytes", [] { shmem_putmem(&global, &global, static_cast<size_t>(-8), 0); }},
    {"count_get_nbi", [] { shmem_long_get_nbi(heap, heap, kTooMany, 0); }},
    {"count_signal",
     [] {
       shmem_long_put_signal(&global, &global, kTooMany, reinterpret_cast<uint64_t*>(heap), 1,
                             SHMEM_SIGNAL_SET, 0);
     }},
    {"count_iput", [] { shmem_long_iput(&global, &global, PTRDIFF_MAX / 8, 1, 4, 0); }},
    {"count_ibget", [] { shmem_ibget64(heap, heap, 1, 0, 8, kTooMany / 8, 0); }},
    {"stride_iput", [] { shmem_long_iput(&global, &global, -1, 1, 2, 0); }},
    {"count_wait", [] { shmem_long_wait_until_all(heap, kTooMany, nullptr, SHMEM_CMP_EQ, 0); }},
    {"count_sum", [] { shmem_long_sum_reduce(SHMEM_TEAM_WORLD, heap, heap, size_t{1} << 61); }},
    {"count_fcollect", [] { shmem_long_fcollect(SHMEM_TEAM_WORLD, heap, heap, kTooMany / 4); }},
    {"count_alltoalls", [] { shmem_long_alltoalls(SHMEM_TEAM_WORLD, heap, heap, 1, 1, kTooMany); }},
    {"stride_alltoalls",
     [] { shmem_long_alltoalls(SHMEM_TEAM_WORLD, heap, heap, 1, PTRDIFF_MAX, 4); }},
    {"count_set", [] { shmem_fcollect64(heap, heap, kTooMany, 0, 0, n, &global); }},
    {"beyond_alltoall", [] { shmem_alltoallmem(SHMEM_TEAM_WORLD, heap, heap, kBeyond); }},
    {"beyond_alltoalls", [] { shmem_alltoallsmem(SHMEM_TEAM_WORLD, heap, heap, 1, kBeyond, 1); }},
    {"beyond_fcollect", [] { shmem_fcollectmem(SHMEM_TEAM_WORLD, heap, heap, kBeyond); }},
    {"beyond_collect", [] { shmem_collectmem(SHMEM_TEAM_WORLD, heap, heap, kBeyond); }},
    {"beyond_broadcast", [] { shmem_broadcastmem(SHMEM_TEAM_WORLD, heap, heap, kBeyond, 0); }},
    {"beyond_sum", [] { shmem_long_sum_reduce(SHMEM_TEAM_WORLD, heap, heap, kBeyond / 8); }},
    {"beyond_scatter",
     [] { shmemx_long_max_reduce_scatter(SHMEM_TEAM_WORLD, heap, heap, kBeyond / 8); }},
    {"beyond_scan", [] { shmem_long_sum_inscan(SHMEM_TEAM_WORLD, heap, heap, kBeyond / 8); }},
    {"beyond_set", [] { shmem_alltoall32(heap, heap, kBeyond / 4, n - 1, 0, 1, &global); }},
    {"beyond_statics", [] { shmem_broadcastmem(SHMEM_TEAM_WORLD, heap, &global, 1 << 20, n - 1); }},
    {"set_count", [] { shmem_int_sum_to_all(&me, &me, -1, 0, 0, n, &me, &global); }},
    {"clear_lock", [] { shmem_clear_lock(&global); }},
    {"set_lock_twice",
     [] {
       shmem_set_lock(&global);
       shmem_set_lock(&global);
     }},
    {"lock_stack",
     [] {
       long local = 0;
       shmem_set_lock(&local);
     }},
    {"lock_not_zero",
     [] {
       shmem_long_p(&global, 12345, 0);
       shmem_set_lock(&global);
     }},
    {"exit_7",
     [] {
       std::printf("last words");  // S6: without a newline, in a buffer
       shmem_global_exit(7);
     }},
    {"exit_0",
     [] {
       std::printf("last words");
       shmem_global_exit(0);
     }},
    {"abort", [] { std::abort(); }},
};

// These are no mistakes that end the job: the program goes on.
bool finalizes_in_vain(const std::string& name) {
  const bool too_often = name.rfind("finalize_too_often", 0) == 0;
  if (!too_often && name.rfind("finalize_before_init", 0) != 0) return false;
  if (!too_often) shmem_finalize();
  shmem_init();
  shmem_finalize();
  if (too_often) shmem_finalize();
  std::puts("went on");
  return true;
}

// Mistakes of a program without a live library.
bool runs_outside(const std::string& name) {
  if (name == "before_init") {
    shmem_barrier_all();
  } else if (name == "put_before_init") {
    shmem_long_p(&global, 1, 0);
  } else if (name == "after_finalize") {
    shmem_init();
    shmem_finalize();
    shmem_malloc(8);
  } else if (name == "atomic_after_finalize") {
    shmem_init();
    shmem_finalize();
    shmem_long_atomic_inc(&global, 0);
  } else {
    return false;
  }
  std::puts("still alive");
  return true;
}

// Without devices there is no such memory, on all PEs alike; so the put goes to a null pointer.
bool makes_no_device_memory(const std::string& name) {
  if (name != "no_device_memory") return false;
  void* block = shmem_malloc_with_hints(64, SHMEMX_MALLOC_DEVICE);
  if (me == n - 1) shmem_putmem(block, &me, 4, 0);
  shmem_barrier_all();
  return true;
}

// One PE gives up, while the others wait for it in something that its finalize would not end.
bool exits_alone(const std::string& name) {
  if (name != "start_pes_exit_3") return false;
  start_pes(0);
  if (me == n - 1) std::exit(3);
  shmem_long_wait(&global, 0);
  return true;
}

// The last PE gives back, or waits for, a lock that PE 0 holds. The others wait for no one.
bool makes_lock_of_another(const std::string& name) {
  if (name != "clear_lock_of_another" && name != "lock_timeout") return false;
  if (me == 0) shmem_set_lock(&global);
  shmem_barrier_all();
  if (me < n - 1) std::this_thread::sleep_for(std::chrono::minutes(1));
  if (name == "lock_timeout") shmem_set_lock(&global);
  shmem_clear_lock(&global);
  return true;
}

bool makes_device_lock(const std::string& name) {
  if (name != "device_lock") return false;
  auto* lock = static_cast<long*>(shmem_malloc_with_hints(sizeof(long), SHMEMX_MALLOC_DEVICE));
  if (me == n - 1) shmem_test_lock(lock);
  shmem_barrier_all();
  return true;
}

// A block that all have freed, and one that all have.
long *freed, *block;

// Accesses of the last PE that only MESHMEM_CHECK finds.
const std::map<std::string, void (*)()> kOutsideBlocks = {
    {"freed_p", [] { shmem_long_p(freed, 1, 0); }},
    {"freed_put", [] { shmem_long_put(freed, &global, 1, 0); }},
    {"freed_g", [] { global = shmem_long_g(freed, 0); }},
    {"freed_atomic", [] { shmem_long_atomic_inc(freed, 0); }},
    {"freed_signal", [] { shmem_signal_add(reinterpret_cast<uint64_t*>(freed), 1, 0); }},
    {"freed_wait", [] { shmem_long_wait_until(freed, SHMEM_CMP_EQ, 0); }},
    {"freed_device", [] { shmem_putmem(freed, &global, 8, 0); }},
    {"freed_device_wait", [] { shmem_long_wait_until(freed, SHMEM_CMP_EQ, 0); }},
    {"past_block_put", [] { shmem_long_put(block, &global, 9, 0); }},
    {"past_block_get_nbi", [] { shmem_getmem_nbi(heap, block, 65, 0); }},
    {"past_block_iput", [] { shmem_long_iput(block, &global, 4, 0, 3, 0); }},
    {"past_block_p", [] { shmem_char_p(reinterpret_cast<char*>(block) + 64, 1, 0); }},
};
bool leaves_blocks(const std::string& name) {
  const auto found = kOutsideBlocks.find(name);
  if (found == kOutsideBlocks.end()) return false;
  const long hints = name.rfind("freed_device", 0) == 0 ? SHMEMX_MALLOC_DEVICE : 0;
  freed = static_cast<long*>(shmem_malloc_with_hints(64, hints));
  block = static_cast<long*>(shmem_malloc(64));
  shmem_free(freed);
  if (me == n - 1) {
    found->second();
    std::puts("still alive");
  }
  shmem_barrier_all();
  return true;
}

unsigned long* words() { return reinterpret_cast<unsigned long*>(heap); }

void split(int stride) {
  shmem_team_t team;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, stride, 2, nullptr, 0, &team);
}

// The calls of the last PE, and of the others.
struct Different {
  void (*last)();
  void (*others)();
};
const std::map<std::string, Different> kDifferentCalls = {
    {"differ_type",
     {[] { shmem_long_sum_reduce(SHMEM_TEAM_WORLD, heap, heap, 2); },
      [] { shmem_ulong_sum_reduce(SHMEM_TEAM_WORLD, words(), words(), 2); }}},
    {"differ_operation",
     {[] { shmem_long_sum_reduce(SHMEM_TEAM_WORLD, heap, heap, 2); },
      [] { shmem_long_max_reduce(SHMEM_TEAM_WORLD, heap, heap, 2); }}},
    {"differ_order",
     {[] {
        shmemx_team_fix_reduce_order(SHMEM_TEAM_WORLD);
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, heap, heap, 2);
      },
      [] { shmem_long_sum_reduce(SHMEM_TEAM_WORLD, heap, heap, 2); }}},
    {"differ_count",
     {[] { shmem_long_fcollect(SHMEM_TEAM_WORLD, heap, &global, 1); },
      [] { shmem_long_fcollect(SHMEM_TEAM_WORLD, heap, &global, 2); }}},
    {"differ_root",
     {[] { shmem_long_broadcast(SHMEM_TEAM_WORLD, heap, &global, 1, 3); },
      [] { shmem_long_broadcast(SHMEM_TEAM_WORLD, heap, &global, 1, 0); }}},
    {"differ_stride",
     {[] { shmem_long_alltoalls(SHMEM_TEAM_WORLD, heap, heap + 4, 1, 1, 1); },
      [] { shmem_long_alltoalls(SHMEM_TEAM_WORLD, heap, heap + 4, 2, 1, 1); }}},
    {"differ_address",
     {[] { shmem_long_sum_reduce(SHMEM_TEAM_WORLD, heap, &global, 1); },
      [] { shmem_long_sum_reduce(SHMEM_TEAM_WORLD, heap + 1, &global, 1); }}},
    {"differ_scatter",
     {[] { shmemx_long_max_reduce_scatter(SHMEM_TEAM_WORLD, &global, heap, 1); },
      [] { shmemx_long_max_reduce_scatter(SHMEM_TEAM_WORLD, heap + me, heap, 1); }}},
    {"differ_routine", {[] { shmem_barrier_all(); }, [] { shmem_free(heap); }}},
    {"differ_malloc",
     {[] { heap = static_cast<long*>(shmem_malloc(64)); },
      [] { heap = static_cast<long*>(shmem_malloc(128)); }}},
    {"differ_split", {[] { split(1); }, [] { split(2); }}},
    {"differ_set",
     {[] { shmem_long_sum_to_all(heap, &global, 1, 0, 0, n, heap, heap); },
      [] { shmem_long_prod_to_all(heap, &global, 1, 0, 0, n, heap, heap); }}},
    {"differ_finalize", {[] { shmem_finalize(); }, [] { shmem_sync_all(); }}},
    {"overlap_sum",
     {[] { shmem_long_sum_reduce(SHMEM_TEAM_WORLD, heap, heap + 1, 2); },
      [] { shmem_long_sum_reduce(SHMEM_TEAM_WORLD, heap, heap + 1, 2); }}},
    {"overlap_fcollect",
     {[] { shmem_long_fcollect(SHMEM_TEAM_WORLD, heap, heap, 1); },
      [] { shmem_long_fcollect(SHMEM_TEAM_WORLD, heap, heap, 1); }}},
    {"overlap_scatter",
     {[] { shmemx_long_max_reduce_scatter(SHMEM_TEAM_WORLD, heap + 1, heap, 2); },
      [] { shmemx_long_max_reduce_scatter(SHMEM_TEAM_WORLD, heap + 1, heap, 2); }}},
    {"past_block_sum",
     {[] { shmem_long_sum_reduce(SHMEM_TEAM_WORLD, heap, heap, 9); }, [] { shmem_barrier_all(); }}},
};
bool calls_differently(const std::string& name) {
  const auto found = kDifferentCalls.find(name);
  if (found == kDifferentCalls.end()) return false;
  (me == n - 1 ? found->second.last : found->second.others)();
  if (me == n - 1) std::puts("still alive");
  return true;
}

// Collectives of one element for each PE. The last PE gives its stack for dest or source.
using CallOfBuffers = void (*)(long* dest, long* source);
const std::map<std::string, CallOfBuffers> kUnsymmetric = {
    {"broadcast",
     [](long* dest, long* source) { shmem_long_broadcast(SHMEM_TEAM_WORLD, dest, source, 1, 0); }},
    {"fcollect",
     [](long* dest, long* source) { shmem_long_fcollect(SHMEM_TEAM_WORLD, dest, source, 1); }},
    {"collect",
     [](long* dest, long* source) { shmem_long_collect(SHMEM_TEAM_WORLD, dest, source, 1); }},
    {"alltoall",
     [](long* dest, long* source) { shmem_long_alltoall(SHMEM_TEAM_WORLD, dest, source, 1); }},
    {"alltoalls",
     [](long* dest, long* source) {
       shmem_long_alltoalls(SHMEM_TEAM_WORLD, dest, source, 1, 1, 1);
     }},
    {"sum",
     [](long* dest, long* source) { shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, source, 1); }},
    {"scatter",
     [](long* dest, long* source) {
       shmemx_long_max_reduce_scatter(SHMEM_TEAM_WORLD, dest, source, 1);
     }},
    {"scan",
     [](long* dest, long* source) { shmem_long_sum_inscan(SHMEM_TEAM_WORLD, dest, source, 1); }},
    {"set",
     [](long* dest, long* source) { shmem_broadcast64(dest, source, 1, n - 1, 0, 0, n, &global); }},
};
bool leaves_symmetric_memory(const std::string& name) {
  const std::size_t dest = name.find("_dest"), source = name.find("_source");
  const auto found = kUnsymmetric.find(name.substr(0, std::min(dest, source)));
  if (found == kUnsymmetric.end() || std::min(dest, source) == std::string::npos) return false;
  long* more = static_cast<long*>(shmem_malloc(64));
  long local[8] = {};
  const bool is_last = me == n - 1;
  found->second(is_last && dest != std::string::npos ? local : heap,
                is_last && source != std::string::npos ? local : more);
  if (is_last) std::puts("still alive");
  shmem_barrier_all();
  return true;
}

// Each PE's part has room, but not those of all.
bool collects_too_much(const std::string& name) {
  if (name != "beyond_collect_of_all") return false;
  constexpr std::size_t kAlmostAll = 6 << 20;  // of 8 MiB
  auto* all = static_cast<char*>(shmem_malloc(kAlmostAll));
  shmem_collectmem(SHMEM_TEAM_WORLD, all, all, kAlmostAll);
  return true;
}

// All PEs make it, collectively.
bool makes_past_the_end(const std::string& name) {
  if (name != "past_the_heap") return false;
  auto* block =
      static_cast<char*>(shmem_malloc(64));  // near the heap's start: no put may end at its end
  static char source[1 << 20];
  for (long i = 0; me == n - 1; ++i) shmem_putmem(block + 4096 + (i << 20), source, 1 << 20, 0);
  shmem_barrier_all();
  return true;
}

}  // namespace

int main(int, char** argv) {
  const std::string name = argv[1] ? argv[1] : "";
  if (finalizes_in_vain(name) || runs_outside(name)) return 0;
  int provided = 0;
  if (shmem_init_thread(SHMEM_THREAD_SINGLE, &provided) != 0) return 3;
  me = shmem_my_pe();
  n = shmem_n_pes();
  heap = static_cast<long*>(shmem_malloc(64));
  if (!makes_past_the_end(name) && !collects_too_much(name) && !calls_differently(name) &&
      !leaves_blocks(name) && !leaves_symmetric_memory(name) && !makes_no_device_memory(name) &&
      !exits_alone(name) && !makes_lock_of_another(name) && !makes_device_lock(name)) {
    auto found = kMistakes.find(name);
    if (found == kMistakes.end()) return 2;
    if (me == n - 1) {
      found->second();
      std::puts("still alive");
    }
    shmem_barrier_all();
  }
  std::puts("still alive");
  shmem_finalize();
  return 0;
}
