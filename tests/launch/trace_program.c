/* SPDX-License-Identifier: Apache-2.0
 *
 * A program whose trace is known: trace_program [HOW].
 *   (nothing)  every kind of call once, in a ring of PEs; alike: calls that may make one span
 *   cost       prints what calls take: in ns, for people; ratio: in readings of the clock
 *   killed     PE 1 is killed while the others wait for it in a barrier; ended_HOW: by SIGTERM
 *   error      PE 1 makes a mistake; outlived: a child of fork ends later, by SIGTERM
 *   full       more calls than a trace holds; threads: of 1100 threads; own_store: no call ends it
 *   away       PE 0 is in no call while PE 1 reads its memory until it finds that
 */
#include <pthread.h>
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
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

/* Every tenth thread has a name that the system cuts inside a character. */
static void* call_in_thread(void* number) {
  if ((long)number % 10 == 0) prctl(PR_SET_NAME, "xf\303\244denf\303\244denf\303\244den");
  shmem_long_p(&flag, (long)number, shmem_my_pe());
  shmem_quiet();
  return NULL;
}

static void call_in_threads(void) {
  for (long i = 0; i < 1100; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, call_in_thread, (void*)i) != 0) abort();
    pthread_join(thread, NULL);
  }
}

/* flag becomes 7 by a test alone: nothing ends the wait after it. */
static void alike(int me, int n) {
  static long other, sync[SHMEM_BCAST_SYNC_SIZE];
  const int next = (me + 1) % n;
  long fetched[2];
  for (int i = 0; i < SHMEM_BCAST_SYNC_SIZE; ++i) sync[i] = SHMEM_SYNC_VALUE;
  shmem_barrier_all();
  for (int i = 0; i < 3; ++i) (void)shmem_long_g(&count, next);
  for (int i = 0; i < 2; ++i) shmem_long_atomic_fetch_nbi(&fetched[i], &count, next);
  shmem_quiet();
  for (int i = 0; i < 3; ++i) {
    (void)shmem_long_test(&other, SHMEM_CMP_EQ, 1);
    (void)shmem_long_test(&other, SHMEM_CMP_GT, 1);
  }
  shmem_long_p(&flag, 7, next);
  while (shmem_long_test_any(&flag, 1, NULL, SHMEM_CMP_EQ, 7) == SIZE_MAX) {
  }
  shmem_long_wait_until(&flag, SHMEM_CMP_GE, 7);
  if (me == 1 || me == 2) shmem_broadcast64(&other, &count, 1, 1, 1, 0, 2, sync);
}

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

enum { kRounds = 9, kCalls = 6000 }; /* 15 lines of these are less than a trace holds */

static void print_median(const char* what, double* ns_of_rounds) {
  qsort(ns_of_rounds, kRounds, sizeof *ns_of_rounds, compare);
  printf("%7.1f  %s\n", ns_of_rounds[kRounds / 2], what);
}

/* The median of the rounds. Every call is another than the one before, as those of programs are. */
#define COST(what, call)                            \
  do {                                              \
    double ns[kRounds];                             \
    for (int round = 0; round < kRounds; ++round) { \
      const double begin = now_ns();                \
      for (int i = 0; i < kCalls; ++i) call;        \
      ns[round] = (now_ns() - begin) / kCalls;      \
    }                                               \
    print_median(what, ns);                         \
  } while (0)

static void cost(int to, int n) {
  long* const variables = shmem_calloc(8, sizeof(long));
  long value = 0;
  shmem_team_t team = SHMEM_TEAM_INVALID;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &team);
  puts("ns a call");
  COST("shmem_long_p", shmem_long_p(&variables[i % 8], i, to));
  COST("shmem_long_g", value += shmem_long_g(&variables[i % 8], to));
  COST("shmem_putmem of 8 B", shmem_putmem(&variables[i % 8], &value, 8, to));
  COST("shmem_getmem of 8 B", shmem_getmem(&value, &variables[i % 8], 8, to));
  COST("shmem_long_put_nbi of 8 B", shmem_long_put_nbi(&variables[i % 8], &value, 1, to));
  COST("shmem_long_atomic_add", shmem_long_atomic_add(&variables[i % 8], 1, to));
  COST("shmem_long_atomic_fetch_add",
       value += shmem_long_atomic_fetch_add(&variables[i % 8], 1, to));
  COST("shmem_putmem_signal of 8 B",
       shmem_putmem_signal(&variables[i % 8], &value, 8, &signal_word, 1, SHMEM_SIGNAL_SET, to));
  COST("shmem_signal_add", shmem_signal_add(&signal_word, 1, to));
  COST("shmem_signal_wait_until",
       value += (long)shmem_signal_wait_until(&signal_word, SHMEM_CMP_NE, 0));
  COST("shmem_long_test", value += shmem_long_test(&variables[i % 8], SHMEM_CMP_GE, 0));
  COST("shmem_quiet", shmem_quiet());
  COST("shmem_barrier_all", shmem_barrier_all());
  shmem_ctx_t context = SHMEM_CTX_INVALID;
  shmem_team_create_ctx(team, 0, &context);
  COST("shmem_ctx_long_p of a team", shmem_ctx_long_p(context, &variables[i % 8], i, to));
  COST("shmem_team_sync", shmem_team_sync(team));
  shmem_ctx_destroy(context);
  shmem_team_destroy(team);
  shmem_free(variables);
  flag = value;
}

/* Of the fastest of many rounds, which are so short that hardly any is interrupted. */
static void ratio(void) {
  enum { kShort = 64, kMany = 400 };
  double call_ns = 1e9, clock_ns = 1e9;
  for (int round = 0; round < kMany; ++round) {
    const double begin = now_ns();
    for (int i = 0; i < kShort; ++i) shmem_long_p(&flag, i, 0);
    const double middle = now_ns();
    for (int i = 0; i < kShort; ++i) (void)now_ns();
    const double end = now_ns();
    if (middle - begin < call_ns) call_ns = middle - begin;
    if (end - middle < clock_ns) clock_ns = end - middle;
  }
  printf("%.3f\n", call_ns / clock_ns);
}

static void finalize(void) { shmem_finalize(); }

static void (*handler_before)(int);
static void call_handler_before(int number) {
  if (handler_before != SIG_DFL) return handler_before(number);
  signal(number, SIG_DFL);
  raise(number);
}

/* The program's own handler calls the one before it (chained), or that one is there again when
   SIGTERM comes (restored), also after the trace (late). SIGALRM ends what SIGTERM does not. */
static void end_by_signal(const char* how) {
  alarm(5);
  handler_before = signal(SIGTERM, call_handler_before);
  if (strcmp(how, "ended_late") == 0) shmem_finalize();
  if (strcmp(how, "ended_chained") != 0) signal(SIGTERM, handler_before);
  raise(SIGTERM);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  const int finalizes_last = strcmp(how, "finalize_last") == 0;
  if (finalizes_last) atexit(finalize);  // as a destructor of a global variable does
  shmem_init();
  const int me = shmem_my_pe(), n = shmem_n_pes();
  if (strcmp(how, "cost") == 0) {
    cost((me + 1) % n, n);
  } else if (strcmp(how, "ratio") == 0) {
    ratio();
  } else if (strcmp(how, "alike") == 0) {
    alike(me, n);
  } else if (strcmp(how, "own_store") == 0) {
    flag = 1;
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
  } else if (strcmp(how, "killed") == 0) {
    shmem_barrier_all();
    if (me == 1) raise(SIGKILL);
    shmem_barrier_all();
  } else if (strcmp(how, "hangs") == 0) {
    if (me == 1) sleep(60);
    shmem_barrier_all();
  } else if (strcmp(how, "error") == 0) {
    shmem_barrier_all();
    if (me == 1) shmem_long_p(&flag, 1, n);
    shmem_barrier_all();
  } else if (strcmp(how, "outlived") == 0) {
    if (fork() == 0) {
      setsid();
      usleep(300000);
      kill(getppid(), SIGKILL);
      sleep(1);
      raise(SIGTERM);
    }
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
  } else if (strncmp(how, "ended_", strlen("ended_")) == 0) {
    end_by_signal(how);
  } else if (strcmp(how, "full") == 0) {
    for (int i = 0; i < 1100000; ++i) shmem_long_p(&flag, i, me);
  } else if (strcmp(how, "threads") == 0) {
    call_in_threads();
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
  if (!finalizes_last) shmem_finalize();
  return 0;
}
