/* SPDX-License-Identifier: Apache-2.0
 *
 * Locks: for an update in two steps, and for a resource that one PE at a time may use. */
#include <sched.h>
#include <shmem.h>

#include "examples.h"

/* Read, raise and write back a counter of PE 0: clearing the lock completes the write. */
static int update_in_two_steps(void) {
  static long lock;
  static int counter;
  counter = 0;
  shmem_barrier_all();
  shmem_set_lock(&lock);
  const int before = shmem_g(&counter, 0);
  shmem_p(&counter, before + 1, 0);
  shmem_clear_lock(&lock);
  shmem_barrier_all();
  return (before < 0 || before >= shmem_n_pes()) + (shmem_g(&counter, 0) != shmem_n_pes()) +
         (lock != 0);
}

/* Everybody writes a few lines to a page on the last PE: those of a PE stay together. */
static int lines_stay_together(void) {
  enum { kLines = 5 };
  static long lock;
  static int used;
  const int me = shmem_my_pe(), n = shmem_n_pes(), keeper = n - 1;
  int* page = shmem_calloc((size_t)(n * kLines), sizeof *page);
  used = 0;
  shmem_barrier_all();
  shmem_set_lock(&lock);
  for (int line = 0; line < kLines; ++line) {
    const int at = shmem_g(&used, keeper);
    shmem_p(&page[at], 100 * me + line, keeper);
    shmem_p(&used, at + 1, keeper);
    shmem_quiet();
  }
  shmem_clear_lock(&lock);
  shmem_barrier_all();
  int wrong = me == keeper && used != n * kLines, writers = 0;
  for (int pe = 0; me == keeper && pe < n; ++pe) {
    const int* first = &page[pe * kLines];
    for (int line = 0; line < kLines; ++line) wrong += first[line] != first[0] + line;
    writers += first[0];
  }
  shmem_free(page);
  return wrong + (writers != (me == keeper ? 100 * n * (n - 1) / 2 : 0));
}

/* A PE that does not get the lock at once does something else, and asks again. */
static int work_while_the_lock_is_taken(void) {
  static long lock, done;
  done = 0;
  shmem_barrier_all();
  while (shmem_test_lock(&lock) != 0) sched_yield();
  shmem_p(&done, shmem_g(&done, 0) + 1, 0);
  shmem_clear_lock(&lock);
  shmem_barrier_all();
  return done != (shmem_my_pe() == 0 ? shmem_n_pes() : 0);
}

const struct SpecExample lock_examples[] = {
    {"update_in_two_steps", update_in_two_steps},
    {"lines_stay_together", lines_stay_together},
    {"work_while_the_lock_is_taken", work_while_the_lock_is_taken},
    {0, 0}};
