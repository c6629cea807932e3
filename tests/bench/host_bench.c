/* SPDX-License-Identifier: Apache-2.0
 *
 * Latencies of OpenSHMEM routines between PEs of one machine, beside the machine's own: the same
 * access through the peer's mapped memory without the library. One line a measurement,
 * "operation,bytes,microseconds,limit in microseconds" (medians of kRepetitions; the limit is 0
 * where there is none to name). It is plain OpenSHMEM, so that other implementations can be
 * measured by the same source; only the collectives are called as the implementation's version has
 * them. compare.py makes the tables.
 *
 *   oshrun -n 2 ./host_bench [NAME]     only the operations whose name contains NAME
 */
#define _GNU_SOURCE
#include <sched.h>
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TEAMS (SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION >= 5)

enum { kRepetitions = 11, kBuffer = 16 << 20, kLargest = 2 << 20, kWindow = 64 };

static int me, n, peer;
static const char* only = "";
static char *from, *to;    /* symmetric buffers */
static long* flags;        /* symmetric; [8] and [24] lie in lines of their own */
static char* mapped;       /* the peer's `to`, mapped here; NULL if it is not */
static long* mapped_flags; /* likewise */

/* An operation runs `iterations` times on `bytes` bytes. */
typedef void (*Operation)(long iterations, size_t bytes);

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(double* times) {
  qsort(times, kRepetitions, sizeof *times, by_value);
  return times[kRepetitions / 2];
}

static double time_once(Operation operation, long iterations, size_t bytes) {
  const double start = now_us();
  operation(iterations, bytes);
  return (now_us() - start) / iterations;
}

/* PE 0 alone works; a repetition takes about 5 ms, and holds whole windows of nonblocking puts. */
static double measure_alone(Operation operation, size_t bytes) {
  long iterations = kWindow;
  while (iterations < 4000000 && time_once(operation, iterations, bytes) * iterations < 5000)
    iterations *= 2;
  double times[kRepetitions];
  for (int i = 0; i < kRepetitions; ++i) times[i] = time_once(operation, iterations, bytes);
  return median(times);
}

/* All PEs take part, with a fixed number of iterations. */
static double measure_together(Operation operation, size_t bytes, long iterations) {
  double times[kRepetitions];
  operation(iterations / 4 + 2, bytes);
  for (int i = 0; i < kRepetitions; ++i) {
    shmem_barrier_all();
    times[i] = time_once(operation, iterations, bytes);
  }
  return median(times);
}

static void print(const char* name, size_t bytes, double us, double limit) {
  if (me == 0) printf("%s,%zu,%.5f,%.5f\n", name, bytes, us, limit);
  fflush(stdout);
}

/* ---- The machine's own speed */
static void limit_store(long iterations, size_t bytes) {
  (void)bytes;
  for (long i = 0; i < iterations; ++i) *(volatile long*)mapped = i;
}
static void limit_load(long iterations, size_t bytes) {
  (void)bytes;
  for (long i = 0; i < iterations; ++i) (void)*(volatile long*)mapped;
}
static void limit_fetch_add(long iterations, size_t bytes) {
  (void)bytes;
  for (long i = 0; i < iterations; ++i) __atomic_fetch_add(mapped_flags, 1, __ATOMIC_SEQ_CST);
}
static void limit_fence(long iterations, size_t bytes) {
  (void)bytes;
  for (long i = 0; i < iterations; ++i) {
    *(volatile long*)mapped = i;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
  }
}
static void limit_copy(long iterations, size_t bytes) {
  for (long i = 0; i < iterations; ++i) {
    memcpy(mapped, from, bytes);
    __asm__ volatile("" ::: "memory");
  }
}
static void limit_copy_back(long iterations, size_t bytes) {
  for (long i = 0; i < iterations; ++i) {
    memcpy(to, mapped, bytes);
    __asm__ volatile("" ::: "memory");
  }
}
static void limit_copies(long iterations, size_t bytes) {
  const size_t window = kBuffer / bytes < kWindow ? kBuffer / bytes : kWindow;
  for (long i = 0; i < iterations; i += (long)window) {
    for (size_t j = 0; j < window; ++j) memcpy(mapped + j * bytes, from + j * bytes, bytes);
    __asm__ volatile("" ::: "memory");
  }
}

/* A flag from PE 0 to PE 1 and back counts as two ways. */
static long rounds;
static void limit_flag(long iterations, size_t bytes) {
  (void)bytes;
  for (long i = 0; i < iterations; ++i) {
    ++rounds;
    if (me == 0) __atomic_store_n(mapped_flags + 8, rounds, __ATOMIC_RELEASE);
    while (__atomic_load_n(flags + (me == 0 ? 24 : 8), __ATOMIC_ACQUIRE) != rounds) {
    }
    if (me == 1) __atomic_store_n(mapped_flags + 24, rounds, __ATOMIC_RELEASE);
  }
}

/* ---- Routines that one PE calls */
static void long_p(long iterations, size_t bytes) {
  (void)bytes;
  for (long i = 0; i < iterations; ++i) shmem_long_p((long*)to, i, peer);
}
static void long_g(long iterations, size_t bytes) {
  (void)bytes;
  for (long i = 0; i < iterations; ++i) (void)shmem_long_g((long*)to, peer);
}
static void putmem(long iterations, size_t bytes) {
  for (long i = 0; i < iterations; ++i) shmem_putmem(to, from, bytes, peer);
}
static void putmem_quiet(long iterations, size_t bytes) {
  for (long i = 0; i < iterations; ++i) {
    shmem_putmem(to, from, bytes, peer);
    shmem_quiet();
  }
}
static void getmem(long iterations, size_t bytes) {
  for (long i = 0; i < iterations; ++i) shmem_getmem(to, from, bytes, peer);
}
static void putmem_nbi(long iterations, size_t bytes) {
  const size_t window = kBuffer / bytes < kWindow ? kBuffer / bytes : kWindow;
  for (long i = 0; i < iterations; i += (long)window) {
    for (size_t j = 0; j < window; ++j)
      shmem_putmem_nbi(to + j * bytes, from + j * bytes, bytes, peer);
    shmem_quiet();
  }
}
static void fetch_add(long iterations, size_t bytes) {
  (void)bytes;
  for (long i = 0; i < iterations; ++i) (void)shmem_long_atomic_fetch_add(flags, 1, peer);
}
static void add(long iterations, size_t bytes) {
  (void)bytes;
  for (long i = 0; i < iterations; ++i) shmem_long_atomic_add(flags, 1, peer);
}
static void compare_swap(long iterations, size_t bytes) {
  (void)bytes;
  for (long i = 0; i < iterations; ++i) (void)shmem_long_atomic_compare_swap(flags, 0, 1, peer);
}
static void fetch(long iterations, size_t bytes) {
  (void)bytes;
  for (long i = 0; i < iterations; ++i) (void)shmem_long_atomic_fetch(flags, peer);
}

/* ---- Routines that PEs call together */
static void ping_pong(long iterations, size_t bytes) {
  (void)bytes;
  for (long i = 0; i < iterations; ++i) {
    ++rounds;
    if (me == 0) shmem_long_p(flags + 8, rounds, 1);
    shmem_long_wait_until(flags + (me == 0 ? 24 : 8), SHMEM_CMP_EQ, rounds);
    if (me == 1) shmem_long_p(flags + 24, rounds, 0);
  }
}
static void ping_pong_put(long iterations, size_t bytes) {
  for (long i = 0; i < iterations; ++i) {
    ++rounds;
    for (int turn = 0; turn < 2; ++turn) {
      long* flag = flags + (turn == 0 ? 8 : 24);
      if (turn == me) {
        shmem_putmem(to, from, bytes, 1 - me);
        shmem_fence();
        shmem_long_p(flag, rounds, 1 - me);
      } else {
        shmem_long_wait_until(flag, SHMEM_CMP_EQ, rounds);
      }
    }
  }
}
static void barrier_all(long iterations, size_t bytes) {
  (void)bytes;
  for (long i = 0; i < iterations; ++i) shmem_barrier_all();
}
static void sync_all(long iterations, size_t bytes) {
  (void)bytes;
  for (long i = 0; i < iterations; ++i) shmem_sync_all();
}

#if TEAMS
static void make_work_arrays(void) {}
static void sum_reduce(long iterations, size_t bytes) {
  for (long i = 0; i < iterations; ++i)
    shmem_float_sum_reduce(SHMEM_TEAM_WORLD, (float*)to, (float*)from, bytes / sizeof(float));
}
static void broadcast(long iterations, size_t bytes) {
  for (long i = 0; i < iterations; ++i) shmem_broadcastmem(SHMEM_TEAM_WORLD, to, from, bytes, 0);
}
static void fcollect(long iterations, size_t bytes) {
  for (long i = 0; i < iterations; ++i) shmem_fcollectmem(SHMEM_TEAM_WORLD, to, from, bytes);
}
static void alltoall(long iterations, size_t bytes) {
  for (long i = 0; i < iterations; ++i) shmem_alltoallmem(SHMEM_TEAM_WORLD, to, from, bytes);
}
#else
/* Two sets of work arrays in turn, as the active-set interface wants it. */
enum {
  kSync = SHMEM_REDUCE_SYNC_SIZE + SHMEM_BCAST_SYNC_SIZE + SHMEM_COLLECT_SYNC_SIZE +
          SHMEM_ALLTOALL_SYNC_SIZE,
  kWork = (1 << 20) / sizeof(float) / 2 + SHMEM_REDUCE_MIN_WRKDATA_SIZE + 1
};
static long sync_arrays[4][2][kSync];
static float* work[2];
static int turn;
static void make_work_arrays(void) {
  for (size_t i = 0; i < sizeof sync_arrays / sizeof(long); ++i)
    (&sync_arrays[0][0][0])[i] = SHMEM_SYNC_VALUE;
  for (int i = 0; i < 2; ++i) work[i] = shmem_malloc(kWork * sizeof(float));
}
static void sum_reduce(long iterations, size_t bytes) {
  for (long i = 0; i < iterations; ++i, turn ^= 1)
    shmem_float_sum_to_all((float*)to, (float*)from, (int)(bytes / sizeof(float)), 0, 0, n,
                           work[turn], sync_arrays[0][turn]);
}
static void broadcast(long iterations, size_t bytes) {
  for (long i = 0; i < iterations; ++i, turn ^= 1)
    shmem_broadcast64(to, from, bytes / 8, 0, 0, 0, n, sync_arrays[1][turn]);
}
static void fcollect(long iterations, size_t bytes) {
  for (long i = 0; i < iterations; ++i, turn ^= 1)
    shmem_fcollect64(to, from, bytes / 8, 0, 0, n, sync_arrays[2][turn]);
}
static void alltoall(long iterations, size_t bytes) {
  for (long i = 0; i < iterations; ++i, turn ^= 1)
    shmem_alltoall64(to, from, bytes / 8, 0, 0, n, sync_arrays[3][turn]);
}
#endif

/* ---- Tables */
static void alone(const char* name, Operation operation, size_t bytes, Operation limit) {
  if (!strstr(name, only)) return;
  shmem_barrier_all();
  if (me == 0)
    print(name, bytes, measure_alone(operation, bytes),
          mapped && limit ? measure_alone(limit, bytes) : 0);
  shmem_barrier_all();
}

/* `limit` is how long the same takes without the library, in microseconds. */
static void together(const char* name, Operation operation, size_t bytes, double limit) {
  if (!strstr(name, only)) return;
  const long share_of_cores = n > 2 ? 10 : 1; /* more PEs than cores take turns */
  print(name, bytes,
        measure_together(operation, bytes, (bytes < 32768 ? 4000 : 100) / share_of_cores), limit);
}

static void bind_to_core(void) {
  cpu_set_t mine, one;
  sched_getaffinity(0, sizeof mine, &mine);
  if (CPU_COUNT(&mine) < n) return; /* bound already, or more PEs than cores */
  int core = 0;
  for (int skip = me; skip >= 0; ++core) skip -= CPU_ISSET(core, &mine) ? 1 : 0;
  CPU_ZERO(&one);
  CPU_SET(core - 1, &one);
  sched_setaffinity(0, sizeof one, &one);
}

int main(int argc, char** argv) {
  if (argc > 1) only = argv[1];
  shmem_init();
  me = shmem_my_pe();
  n = shmem_n_pes();
  peer = n > 1 ? 1 : 0;
  bind_to_core();
  from = shmem_align(4096, kBuffer);
  to = shmem_align(4096, kBuffer);
  flags = shmem_align(4096, 4096);
  if (!from || !to || !flags) {
    fprintf(stderr, "host_bench: no memory; raise SHMEM_SYMMETRIC_SIZE\n");
    return 1;
  }
  memset(from, 1, kBuffer);
  memset(to, 2, kBuffer);
  memset(flags, 0, 4096);
  make_work_arrays();
  mapped = shmem_ptr(to, me == 0 ? peer : 0);
  mapped_flags = shmem_ptr(flags, me == 0 ? peer : 0);
  shmem_barrier_all();

  alone("p", long_p, 8, limit_store);
  alone("g", long_g, 8, limit_load);
  alone("put", putmem, 8, limit_copy);
  alone("put + quiet", putmem_quiet, 8, limit_fence);
  alone("get", getmem, 8, limit_copy_back);
  alone("atomic fetch_add", fetch_add, 8, limit_fetch_add);
  alone("atomic add", add, 8, limit_fetch_add);
  alone("atomic compare_swap", compare_swap, 8, limit_fetch_add);
  alone("atomic fetch", fetch, 8, limit_load);
  for (size_t bytes = 2048; bytes <= kLargest; bytes *= 4) alone("put", putmem, bytes, limit_copy);
  for (size_t bytes = 2048; bytes <= kLargest; bytes *= 4)
    alone("get", getmem, bytes, limit_copy_back);
  for (size_t bytes = 8; bytes <= kLargest; bytes *= 16)
    alone("put_nbi x 64", putmem_nbi, bytes, limit_copies);

  double round_trip = 0; /* of a flag; half of it is one transfer of a cache line */
  if (n == 2) {
    if (mapped_flags) round_trip = measure_together(limit_flag, 0, 20000);
    together("p, wait_until: round trip", ping_pong, 8, round_trip);
    for (size_t bytes = 1024; bytes <= 1 << 20; bytes *= 32)
      together("put, fence, p: round trip", ping_pong_put, bytes, 0);
  }
  const double flag = round_trip / 2;
  together("barrier_all", barrier_all, 0, flag);
  together("sync_all", sync_all, 0, flag);
  for (size_t bytes = 8; bytes <= 1 << 20; bytes *= 8)
    together("float sum_reduce", sum_reduce, bytes, flag);
  together("float sum_reduce", sum_reduce, 1 << 20, flag);
  for (size_t bytes = 8; bytes <= 1 << 20; bytes *= 8)
    together("broadcast", broadcast, bytes, flag);
  for (size_t bytes = 8; bytes * (size_t)n <= kBuffer && bytes <= 1 << 20; bytes *= 8)
    together("fcollect", fcollect, bytes, flag);
  for (size_t bytes = 8; bytes * (size_t)n <= kBuffer && bytes <= 1 << 20; bytes *= 8)
    together("alltoall", alltoall, bytes, flag);
  shmem_finalize();
  return 0;
}
