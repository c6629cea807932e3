/* SPDX-License-Identifier: Apache-2.0
 *
 * Begin and end, each inside a program that has begun already: a further pair of calls is a round
 * of its own, and its finalize completes what was put. */
#include <shmem.h>

#include "examples.h"

/* Everybody tells PE 0 its number and how many there are. */
static int hello(void) {
  shmem_init();
  const int me = shmem_my_pe(), n = shmem_n_pes();
  int* greetings = shmem_calloc((size_t)n, sizeof *greetings);
  shmem_p(&greetings[me], 1000 * me + n, 0);
  shmem_finalize();
  int wrong = me < 0 || me >= n;
  for (int pe = 0; pe < n; ++pe) wrong += greetings[pe] != (me == 0 ? 1000 * pe + n : 0);
  shmem_free(greetings);
  return wrong;
}

/* Finalize waits for all: the last PE's static word is there as long as anybody reads it. */
static int finalize_waits(void) {
  static long word;
  word = 10 + shmem_my_pe();
  shmem_barrier_all();
  shmem_init();
  const long theirs = shmem_my_pe() == 0 ? shmem_g(&word, shmem_n_pes() - 1) : -1;
  shmem_finalize();
  word = 0;
  return theirs != (shmem_my_pe() == 0 ? 9 + shmem_n_pes() : -1);
}

/* A program asks for a level of threads, and looks at which it has got. */
static int ask_for_threads(void) {
  int granted = -1, level = -2;
  int wrong = shmem_init_thread(SHMEM_THREAD_MULTIPLE, &granted) != 0;
  shmem_query_thread(&level);
  wrong += (granted != SHMEM_THREAD_MULTIPLE) + (level != granted);
  shmem_finalize();
  return wrong;
}

const struct SpecExample setup_examples[] = {{"hello", hello},
                                             {"finalize_waits", finalize_waits},
                                             {"ask_for_threads", ask_for_threads},
                                             {0, 0}};
