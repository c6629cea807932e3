/* SPDX-License-Identifier: Apache-2.0
 *
 * A program whose trace is known: trace_program [HOW].
 *   (nothing)  every kind of call once, in a ring of PEs
 *   cost       prints what a call costs, in ns; for people, not for a test
 *   killed     PE 1 is killed while the others wait for it in a barrier
 *   error      PE 1 makes a mistake
 *   full       more calls than a trace holds
 *   away       PE 0 is in no call while PE 1 reads its memory until it finds that
 */
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long flag, count;
static uint64_t signal_word;
static long lock;
static int numbers[4];

static void all_kinds(int me, int n) {
  const int next = (me + 1) % n;
  int* heap = shmem_malloc(4 * sizeof(int));
  long* sums = shmem_calloc(2, sizeof(long));
  const int source[4] = {1, 2, 3, 4};

  shmem_barrier_all();
  shmem_long_p(&flag, 7, next);
  shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 7);

  shmem_int_put_signal(heap, source, 4, &signal_word, 1, SHMEM_SIGNAL_ADD, next);
  shmem_signal_wait_until(&signal_word, SHMEM_CMP_GE, 1);

  shmem_int_put(numbers, source, 3, next);
  shmem_quiet();
  (void)shmem_long_atomic_fetch_add(&count, 1, next);
  while (!shmem_long_test(&count, SHMEM_CMP_EQ, 1)) {
  }

  shmem_set_lock(&lock);
  shmem_clear_lock(&lock);

  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, sums + 1, sums, 1);
  shmem_team_t evens = SHMEM_TEAM_INVALID;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, NULL, 0, &evens);
  if (evens != SHMEM_TEAM_INVALID) {
    shmem_team_sync(evens);
    shmem_team_destroy(evens);
  }
  shmem_pcontrol(0);
  (void)shmem_int_g(numbers, next); /* in no trace */
  shmem_pcontrol(1);
  shmem_free(sums);
  shmem_free(heap);
}

static double ns_of(struct timespec from, struct timespec to) {
  return (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
}

static void cost(void) {
  enum { kCalls = 400000 };
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (int i = 0; i < kCalls; ++i) shmem_long_p(&flag, i, 0);
  clock_gettime(CLOCK_MONOTONIC, &end);
  printf("%.1f ns a shmem_long_p\n", ns_of(begin, end) / kCalls);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  shmem_init();
  const int me = shmem_my_pe(), n = shmem_n_pes();
  if (strcmp(how, "cost") == 0) {
    cost();
  } else if (strcmp(how, "killed") == 0) {
    shmem_barrier_all();
    if (me == 1) raise(SIGKILL);
    shmem_barrier_all();
  } else if (strcmp(how, "error") == 0) {
    shmem_barrier_all();
    if (me == 1) shmem_long_p(&flag, 1, n);
    shmem_barrier_all();
  } else if (strcmp(how, "full") == 0) {
    for (int i = 0; i < 1100000; ++i) shmem_long_p(&flag, i, me);
  } else if (strcmp(how, "away") == 0) {
    shmem_barrier_all();
    if (me == 0) {
      __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
      for (int i = 0; i < 3000 && !__atomic_load_n(&count, __ATOMIC_ACQUIRE); ++i) usleep(10000);
    } else {
      while (shmem_long_g(&flag, 0) == 0) {
      }
      shmem_long_p(&count, 1, 0);
      shmem_quiet();
    }
  } else {
    all_kinds(me, n);
  }
  shmem_finalize();
  return 0;
}
