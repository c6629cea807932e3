/* SPDX-License-Identifier: Apache-2.0
 *
 * Times of operations between two machines, for any OpenSHMEM of version 1.4 or later. PE 0 works
 * with the first PE of the second half, which is to be on the other machine; all PEs take part in
 * collectives. Prints a line for each: operation, bytes, least and median microseconds of seven
 * repetitions. docs/measurements/two_machines.md says how to run it.
 */
#define _POSIX_C_SOURCE 200809L
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { repetitions = 7, room = 16 << 20 };
static const double budget_us = 8000; /* of one repetition */

static int me, n_pes, other;
static char *source, *dest; /* `room` bytes each */
static long* flags;
static long number; /* of the step that goes to and fro */
static size_t bytes;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double time_of(void (*step)(void), long times) {
  const double begin = now();
  for (long i = 0; i < times; i++) step();
  return (now() - begin) / (double)times;
}

/* All PEs get PE 0's number. */
static long agree(long mine) {
  if (me == 0) {
    for (int pe = 0; pe < n_pes; pe++) shmem_long_p(flags + 16, mine, pe);
    shmem_quiet();
  }
  shmem_barrier_all();
  const long agreed = flags[16];
  shmem_barrier_all();
  return agreed;
}

/* By the PEs for which `takes_part` holds; each step counts as `per` operations. */
static void measure(const char* operation, size_t its_bytes, void (*step)(void), int takes_part,
                    double per) {
  double took[repetitions];
  bytes = its_bytes;
  shmem_barrier_all();
  const double first = takes_part ? time_of(step, 4) : 0;
  const double wanted = first > 0 ? budget_us / first : 0;
  const long times = agree(wanted < 2 ? 2 : wanted > 20000 ? 20000 : (long)wanted);
  for (int i = 0; i < repetitions; i++) {
    shmem_barrier_all();
    took[i] = takes_part ? time_of(step, times) : 0;
  }
  if (me == 0) {
    qsort(took, repetitions, sizeof took[0], compare);
    printf("%s,%zu,%.3f,%.3f\n", operation, its_bytes, took[0] / per, took[repetitions / 2] / per);
    fflush(stdout);
  }
}

static void p_quiet(void) {
  shmem_long_p((long*)dest, 1, other);
  shmem_quiet();
}
static void g(void) { (void)shmem_long_g((long*)dest, other); }
static void fetch_add(void) { (void)shmem_long_atomic_fetch_add(flags, 1, other); }
static void puts_quiet(void) {
  for (int i = 0; i < 1000; i++) shmem_putmem_nbi(dest + 8 * i, source + 8 * i, 8, other);
  shmem_quiet();
}
static void adds_quiet(void) {
  for (int i = 0; i < 1000; i++) shmem_long_atomic_add(flags, 1, other);
  shmem_quiet();
}
static void put_quiet(void) {
  shmem_putmem(dest, source, bytes, other);
  shmem_quiet();
}
static void eight_puts_quiet(void) {
  for (size_t i = 0; i < 8; i++)
    shmem_putmem_nbi(dest + i * bytes, source + i * bytes, bytes, other);
  shmem_quiet();
}
static void get(void) { shmem_getmem(dest, source, bytes, other); }

/* To the other PE and back: two operations. */
static void to_and_fro(void (*send)(int pe)) {
  number++;
  if (me == 0) {
    send(other);
    shmem_long_wait_until(flags + 8, SHMEM_CMP_GE, number);
  } else {
    shmem_long_wait_until(flags + 8, SHMEM_CMP_GE, number);
    send(0);
  }
}
static void send_p(int pe) { shmem_long_p(flags + 8, number, pe); }
static void send_put_fence_p(int pe) {
  shmem_putmem(dest, source, bytes, pe);
  shmem_fence();
  shmem_long_p(flags + 8, number, pe);
}
static void p_to_and_fro(void) { to_and_fro(send_p); }
static void put_fence_p_to_and_fro(void) { to_and_fro(send_put_fence_p); }
#if SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION >= 5
static void send_put_signal(int pe) {
  shmem_putmem_signal(dest, source, bytes, (uint64_t*)flags + 8, (uint64_t)number, SHMEM_SIGNAL_SET,
                      pe);
}
static void put_signal_to_and_fro(void) { to_and_fro(send_put_signal); }
static void sum(void) {
  shmem_float_sum_reduce(SHMEM_TEAM_WORLD, (float*)dest, (float*)source, bytes / sizeof(float));
}
static void alltoall(void) { shmem_alltoallmem(SHMEM_TEAM_WORLD, dest, source, bytes); }
#else
/* Two sets of work arrays in turn, as these routines ask for. */
static long sync_words[2][2][SHMEM_ALLTOALL_SYNC_SIZE + SHMEM_REDUCE_SYNC_SIZE];
static float* work;
static int turn;
static void sum(void) {
  turn ^= 1;
  shmem_float_sum_to_all((float*)dest, (float*)source, (int)(bytes / sizeof(float)), 0, 0, n_pes,
                         work + turn * (room / 64), sync_words[0][turn]);
}
static void alltoall(void) {
  turn ^= 1;
  shmem_alltoall64(dest, source, bytes / 8, 0, 0, n_pes, sync_words[1][turn]);
}
#endif

/* The other PE computes for 350 ms and calls nothing meanwhile. A shot every 15 ms, each at a PE
 * that has slept, until 250 ms are over: one shot where none is answered before. */
static void measure_busy_target(void) {
  enum { most_shots = 16 };
  double took[most_shots];
  int shots = 0;
  shmem_barrier_all();
  const double start = now();
  if (me == other) {
    while (now() - start < 350000) {
    }
  } else if (me == 0) {
    while (shots < most_shots && (shots == 0 || now() - start < 250000)) {
      double begin = now();
      while (now() - begin < 15000) {
      }
      begin = now();
      fetch_add();
      took[shots++] = now() - begin;
    }
    qsort(took, (size_t)shots, sizeof *took, compare);
    printf("fetch_add of one who computes,8,%.3f,%.3f\n", took[0], took[shots / 2]);
    fflush(stdout);
  }
  shmem_barrier_all();
}

int main(void) {
  shmem_init();
  me = shmem_my_pe();
  n_pes = shmem_n_pes();
  other = n_pes / 2;
  source = shmem_align(4096, room);
  dest = shmem_align(4096, room);
  flags = shmem_calloc(64, sizeof(long));
  if (n_pes < 2 || !source || !dest || !flags) {
    fprintf(stderr, "network_bench: it takes two PEs at least, and 32 MiB of symmetric heap\n");
    return 1;
  }
#if SHMEM_MAJOR_VERSION == 1 && SHMEM_MINOR_VERSION < 5
  work = shmem_malloc(2 * (room / 64) * sizeof(float));
  for (size_t i = 0; i < sizeof sync_words / sizeof(long); i++)
    ((long*)sync_words)[i] = SHMEM_SYNC_VALUE;
#endif
  memset(source, 1, room);
  const int is_first = me == 0, is_pair = me == 0 || me == other;
  measure("p and quiet", 8, p_quiet, is_first, 1);
  measure("g", 8, g, is_first, 1);
  measure("fetch_add", 8, fetch_add, is_first, 1);
  measure("1000 put_nbi and quiet", 8, puts_quiet, is_first, 1000);
  measure("1000 add and quiet", 8, adds_quiet, is_first, 1000);
  measure("p and wait_until", 8, p_to_and_fro, is_pair, 2);
  measure("put fence p", 64, put_fence_p_to_and_fro, is_pair, 2);
#if SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION >= 5
  measure("put_signal", 8, put_signal_to_and_fro, is_pair, 2);
#endif
  measure("put and quiet", 256 << 10, put_quiet, is_first, 1);
  measure("put_nbi", 2 << 20, eight_puts_quiet, is_first, 8);
  measure("get", 2 << 20, get, is_first, 1);
  measure("barrier_all", 0, shmem_barrier_all, 1, 1);
  for (size_t size = 8; size <= 1 << 20; size = size == 8 ? 65536 : size * 16)
    measure("sum", size, sum, 1, 1);
  for (size_t size = 8; size <= 1 << 20; size = size == 8 ? 65536 : size * 16)
    measure("alltoall", size, alltoall, 1, 1);
  measure_busy_target();
  shmem_finalize();
  return 0;
}
