// SPDX-License-Identifier: Apache-2.0
// An OpenSHMEM program whose PEs wait in a way that test_status.py asks for, until SIGUSR1 comes.
// Invariant: a PE prints "ready" when it is about to wait, and ends with status 0 when the
// wait is over.
// Usage: status_program barrier PE | variable | set | lock | team | threads | start PE |
// deadlock HOW
#include <pthread.h>
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long flag, lock;
static long flags[4], locks[2], chain[4], sums[2];
static volatile sig_atomic_t told;

static void on_signal(int number) {
  (void)number;
  told = 1;
}

static void await_signal(void) {
  while (!told) usleep(10000);
}

static void ready(void) {
  printf("ready\n");
  fflush(stdout);
}

// Does something after the barrier, so that the call is no jump, of which the stack would know
// nothing.
__attribute__((noinline)) static void meet_the_others(void) {
  shmem_barrier_all();
  told = 1;
}

static void wait_in_barrier(int late) {
  ready();
  if (shmem_my_pe() == late) await_signal();
  meet_the_others();
}

// All PEs wait for their own flag, which PE 0 sets in all when it is told.
static void wait_for_flag(int with_set) {
  ready();
  if (shmem_my_pe() == 0) {
    await_signal();
    for (int pe = 0; pe < shmem_n_pes(); ++pe) {
      shmem_long_p(&flag, 7, pe);
      shmem_long_p(&flags[2], 7, pe);
    }
  }
  if (with_set) {
    shmem_long_wait_until_any(flags, 4, NULL, SHMEM_CMP_EQ, 7);
  } else {
    shmem_long_wait_until(&flag, SHMEM_CMP_GT, 5);
  }
  shmem_barrier_all();
}

static void wait_for_lock(void) {
  if (shmem_my_pe() == 0) shmem_set_lock(&lock);
  shmem_barrier_all();
  ready();
  if (shmem_my_pe() == 0) await_signal();
  if (shmem_my_pe() != 0) shmem_set_lock(&lock);
  shmem_clear_lock(&lock);
  shmem_barrier_all();
}

static void wait_in_team(void) {
  shmem_team_t odd = SHMEM_TEAM_INVALID;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 2, shmem_n_pes() / 2, NULL, 0, &odd);
  ready();
  if (shmem_my_pe() == 1) await_signal();
  if (odd != SHMEM_TEAM_INVALID) shmem_team_sync(odd);
  shmem_barrier_all();
}

static void* wait_in_thread(void* argument) {
  shmem_long_wait_until((long*)argument, SHMEM_CMP_NE, 0);
  return NULL;
}

static void wait_in_threads(void) {
  enum { kThreads = 20 };
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, wait_in_thread, &flag);
  ready();
  await_signal();
  shmem_long_p(&flag, 1, shmem_my_pe());
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
}

static void* outlast(void* unused) {
  (void)unused;
  await_signal();
  shmem_long_p(&flag, 7, 0);
  return NULL;
}

// Each PE holds a lock. PE 2 wants that of PE 1, and PE 1 that of PE 3, while PE 0 computes until
// SIGUSR1. PE 3 wants that of PE 2, so that none is ever released (5), or that of PE 0 (6).
static void wait_in_chain(int how) {
  const int me = shmem_my_pe();
  const int wants[] = {0, 3, 1, how == 5 ? 2 : 0};
  shmem_set_lock(&chain[me]);
  shmem_barrier_all();
  ready();
  if (me == 0) await_signal();
  if (me != 0) shmem_set_lock(&chain[wants[me]]);
  shmem_clear_lock(&chain[me]);
  if (me != 0) shmem_clear_lock(&chain[wants[me]]);
  shmem_barrier_all();
}

// PE 2 computes until SIGUSR1. 7: PEs 0 and 1 wait in different teams of all PEs. 8: PE 0 waits for
// PE 1 in a sync, and PE 1 for a lock that PE 0 has. 9: the same, but PE 0 waits for PE 2.
static void wait_across(int how) {
  const int me = shmem_my_pe();
  shmem_team_t teams[2], pair = SHMEM_TEAM_INVALID;
  for (int i = 0; i < 2; ++i)
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, shmem_n_pes(), NULL, 0, &teams[i]);
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, how == 8 ? 1 : 2, 2, NULL, 0, &pair);
  if (how != 7 && me == 0) shmem_set_lock(&lock);
  shmem_barrier_all();
  ready();
  if (me == 2) await_signal();
  if (how == 7) shmem_team_sync(teams[me % 2]);
  if (how != 7 && me == 1) shmem_set_lock(&lock);
  if (how != 7 && pair != SHMEM_TEAM_INVALID) shmem_team_sync(pair);
  if (how != 7 && me < 2) shmem_clear_lock(&lock);
  shmem_barrier_all();
}

// A right program: for 10 rounds each PE syncs with its neighbours and takes a lock. One PE after
// another is late, one of them by 5 s.
static void wait_for_late_pes(void) {
  const int me = shmem_my_pe(), n = shmem_n_pes();
  shmem_team_t pairs[16];
  for (int i = 0; i + 1 < n; ++i)
    shmem_team_split_strided(SHMEM_TEAM_WORLD, i, 1, 2, NULL, 0, &pairs[i]);
  ready();
  for (int round = 0; round < 10; ++round) {
    if (me == round % n) usleep(round == 3 ? 5000000 : 300000);
    shmem_set_lock(&lock);
    if (me == (round + 1) % n) usleep(200000);
    shmem_clear_lock(&lock);
    for (int i = 0; i + 1 < n; ++i)
      if (pairs[i] != SHMEM_TEAM_INVALID) shmem_team_sync(pairs[i]);
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sums[0], &sums[1], 1);
  }
}

// A right program of two PEs. PE 1 comes to the first sync, and PE 0 to both when it is told.
static void sync_twice(void) {
  shmem_barrier_all();
  ready();
  if (shmem_my_pe() == 0) await_signal();
  shmem_sync_all();
  shmem_sync_all();
}

// A right program of three PEs. PE 1 has a lock, for which PE 2 waits, and syncs with PE 0. PE 0
// comes when it is told, and then syncs with PE 2.
static void sync_behind_lock(void) {
  const int me = shmem_my_pe();
  shmem_team_t pairs[2];
  for (int i = 0; i < 2; ++i)
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, i + 1, 2, NULL, 0, &pairs[i]);
  if (me == 1) shmem_set_lock(&lock);
  shmem_barrier_all();
  ready();
  if (me == 0) await_signal();
  if (me == 2) shmem_set_lock(&lock);
  if (me < 2) shmem_team_sync(pairs[0]);
  if (me > 0) shmem_clear_lock(&lock);
  if (me != 1) shmem_team_sync(pairs[1]);
}

// All PEs wait: for each other's locks (0), in different teams (1), or for a value. Nobody stores
// the value (2), or a thread of PE 1 will store it (3), also one that begins after a long wait (4).
static void deadlock(int how) {
  if (how == 12) return sync_behind_lock();
  if (how == 11) return sync_twice();
  if (how == 10) return wait_for_late_pes();
  if (how >= 7) return wait_across(how);
  if (how >= 5) return wait_in_chain(how);
  shmem_team_t teams[2];
  pthread_t thread;
  const int me = shmem_my_pe(), n = shmem_n_pes();
  for (int i = 0; i < 2; ++i)
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &teams[i]);
  if (how == 0 && me < 2) shmem_set_lock(&locks[me]);
  if (how == 3 && me == 1) pthread_create(&thread, NULL, outlast, NULL);
  if (how == 4 && me == 0) sleep(2);
  shmem_barrier_all();
  if (how == 4 && me == 1) {
    pthread_create(&thread, NULL, outlast, NULL);
    sleep(2);
  }
  ready();
  if (how == 0 && me < 2) shmem_set_lock(&locks[1 - me]);
  if (how == 1) shmem_team_sync(teams[me % 2]);
  if (how >= 2 && me == 0) shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 7);
  shmem_barrier_all();
  if (how >= 3 && me == 1) pthread_join(thread, NULL);
}

int main(int argc, char** argv) {
  const char* verb = argc > 1 ? argv[1] : "";
  const int who = argc > 2 ? atoi(argv[2]) : 0;
  signal(SIGUSR1, on_signal);
  if (strcmp(verb, "start") == 0) {
    ready();
    if (atoi(getenv("PMIX_RANK")) == who) await_signal();
  }
  int provided;
  const int is_alone = strcmp(verb, "deadlock") == 0;
  if (is_alone)
    shmem_init();
  else
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
  if (is_alone) deadlock(who);
  if (strcmp(verb, "barrier") == 0) wait_in_barrier(who);
  if (strcmp(verb, "variable") == 0) wait_for_flag(0);
  if (strcmp(verb, "set") == 0) wait_for_flag(1);
  if (strcmp(verb, "lock") == 0) wait_for_lock();
  if (strcmp(verb, "team") == 0) wait_in_team();
  if (strcmp(verb, "threads") == 0) wait_in_threads();
  shmem_finalize();
  return 0;
}
