/* SPDX-License-Identifier: Apache-2.0
 *
 * Mistakes of order, each beside the program that is right: races_program MISTAKE [right | child].
 * PE 0 produces as a rule and PE 1 consumes. Which PE comes first does not matter: the race is
 * there in any case.
 *   cost   prints what calls cost, in ns; for people, not for a test
 */
#include <pthread.h>
#include <sched.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int me, n, right;
static long x[8], y[8], source[64], dest[64], flag, flag2, lock;
static uint64_t signal1, signal2;
static const long values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
static long sink[8];
static long* heap;

static void barrier_if_right(void) {
  if (right) shmem_barrier_all();
}

static void put_get(void) {
  if (me == 0) shmem_long_put(x, values, 4, 1);
  barrier_if_right();
  if (me == 1) shmem_long_get(sink, x, 4, 1);
}
static void often(void) {
  for (int i = 0; i < 10; ++i) {
    if (me == 0) shmem_long_p(heap, 1, 1);
    barrier_if_right();
    if (me == 1) (void)shmem_long_g(heap, 1);
    shmem_barrier_all();
  }
}
static void p_g(void) {
  if (me == 0) shmem_long_p(heap, 1, 1);
  barrier_if_right();
  if (me == 1) (void)shmem_long_g(heap, 1);
}
static void put_put(void) {
  if (me == 0) shmem_long_put(heap, values, 8, 0);
  barrier_if_right();
  if (me == 1) shmem_putmem((char*)heap + 60, values, 4, 0);
}
static void get_p(void) {
  if (me == 0) shmem_getmem(sink, x, 12, 1);
  barrier_if_right();
  if (me == 1) shmem_int_p((int*)x + 2, 7, 1);
}
static void iput_get(void) {
  if (me == 0) shmem_long_iput(heap, values, 2, 1, 4, 1);
  barrier_if_right();
  if (me == 1) (void)shmem_long_g(heap + 6, 1);
}
static void sync_without_quiet(void) {
  if (me == 0) shmem_long_put_nbi(x, values, 8, 1);
  if (right) shmem_quiet();
  shmem_sync_all();
  if (me == 1) shmem_long_get(sink, x, 8, 1);
}
static void team_sync_without_quiet(void) {
  if (me == 0) shmem_long_put(x, values, 8, 1);
  if (right) shmem_quiet();
  shmem_team_sync(SHMEM_TEAM_WORLD);
  if (me == 1) shmem_long_get(sink, x, 8, 1);
}
static void signal_of_another_put(void) {
  if (me == 0) {
    shmem_long_put(x, values, 8, 1);
    if (right) shmem_fence();
    shmem_long_put_signal(y, values, 8, &signal1, 1, SHMEM_SIGNAL_SET, 1);
  } else if (me == 1) {
    shmem_signal_wait_until(&signal1, SHMEM_CMP_EQ, 1);
    shmem_long_get(sink, y, 8, 1);
    shmem_long_get(sink, x, 8, 1);
  }
}
static void flag_without_fence(void) {
  if (me == 0) {
    shmem_long_put(x, values, 8, 1);
    if (right) shmem_fence();
    shmem_long_p(&flag, 1, 1);
  } else if (me == 1) {
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    shmem_long_get(sink, x, 8, 1);
  }
}
/* The same, by the PE with the highest number, to PE 0. */
static void last_pe_without_fence(void) {
  if (me == n - 1) {
    shmem_long_put(x, values, 8, 0);
    if (right) shmem_fence();
    shmem_long_p(&flag, 1, 0);
  } else if (me == 0) {
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    shmem_long_get(sink, x, 8, 0);
  }
}
static void flag_without_context_fence(void) {
  shmem_ctx_t context;
  if (shmem_ctx_create(0, &context) != 0) return;
  if (me == 0) {
    shmem_ctx_long_put_nbi(context, x, values, 8, 1);
    if (right) shmem_ctx_fence(context);
    shmem_ctx_long_atomic_set(context, &flag, 1, 1);
  } else if (me == 1) {
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    shmem_long_get(sink, x, 8, 1);
  }
  shmem_ctx_destroy(context);
}
static void flag_before_data(void) {
  if (me == 0) {
    if (right) shmem_long_put(x, values, 8, 1);
    if (right) shmem_quiet();
    shmem_long_p(&flag, 1, 1);
    if (!right) shmem_long_put(x, values, 8, 1);
  } else if (me == 1) {
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    shmem_long_get(sink, x, 8, 1);
  }
}
static void dest_before_quiet(void) {
  if (me == 0) shmem_long_get_nbi(x, y, 8, 1);
  if (right) shmem_quiet();
  if (me == 0) shmem_long_put(dest, x, 8, 1);
}
static void dest_before_destroy(void) {
  shmem_ctx_t context;
  if (shmem_ctx_create(0, &context) != 0) return;
  if (me == 0) shmem_ctx_long_get_nbi(context, x, y, 8, 1);
  if (right) shmem_ctx_destroy(context);
  if (me == 0) shmem_long_put(dest, x, 8, 1);
  if (!right) shmem_ctx_destroy(context);
}
static void source_before_quiet(void) {
  if (me == 0) shmem_long_put_nbi(dest, x, 8, 1);
  if (right) shmem_quiet();
  if (me == 0) shmem_long_get(x, y, 8, 1);
}
static void own_source_before_quiet(void) {
  long from = 7;
  if (me == 0) shmem_long_put_nbi(dest, &from, 1, 1);
  if (right) shmem_quiet();
  if (me == 0) shmem_long_get(&from, y, 1, 1);
  shmem_quiet();
}
static void atomic_fetch_put(void) {
  if (me == 0) (void)shmem_long_atomic_fetch(x, 1);
  barrier_if_right();
  if (me == 1) shmem_long_put(x, values, 1, 1);
}
static void atomics_of_two_widths(void) {
  if (me == 0) shmem_int_atomic_add((int*)x, 1, 1);
  barrier_if_right();
  if (me == 1) shmem_long_atomic_add(x, 1, 1);
}
static void atomics_of_a_float(void) {
  if (me == 0) shmem_float_atomic_set((float*)x, 1, 1);
  barrier_if_right();
  if (me == 1) (void)shmem_int_atomic_fetch((int*)x, 1);
}
static void atomics_of_two_teams(void) {
  shmem_ctx_t context;
  shmem_team_create_ctx(right ? SHMEM_TEAM_WORLD : SHMEM_TEAM_SHARED, 0, &context);
  if (me == 0) shmem_ctx_long_atomic_add(context, x, 1, 0);
  if (me == 1) shmem_long_atomic_add(x, 1, 0);
  shmem_ctx_destroy(context);
}
/* No mistake: types of one width, whose names or signs differ. */
static void atomics_of_one_width(void) {
  shmem_long_atomic_add(x, 1, 0);
  shmem_uint64_atomic_add((uint64_t*)x, 1, 0);
  (void)shmem_longlong_atomic_fetch((long long*)x, 0);
}
static void get_of_own_put(void) {
  if (me == 0) shmem_long_put(x, values, 8, 1);
  if (right) shmem_quiet();
  if (me == 0) shmem_long_get(sink, x, 8, 1);
}
static void quiet_of_another_context(void) {
  shmem_ctx_t context;
  if (shmem_ctx_create(0, &context) != 0) return;
  if (me == 0) shmem_ctx_long_put(context, x, values, 8, 1);
  shmem_ctx_quiet(right ? context : SHMEM_CTX_DEFAULT);
  if (me == 0) shmem_ctx_long_p(context, x, 7, 1);
  shmem_ctx_destroy(context);
}
/* Work for one context, then for another. Then both are completed or ordered, or only the last. */
static shmem_ctx_t both[2];
static void make_contexts(void) {
  for (int i = 0; i < 2; ++i)
    if (shmem_ctx_create(0, &both[i]) != 0) exit(3);
}
static void end_contexts(void) {
  for (int i = 0; i < 2; ++i) shmem_ctx_destroy(both[i]);
}
static void put_of_an_earlier_context(void) {
  make_contexts();
  if (me == 0) {
    shmem_ctx_long_put_nbi(both[0], x, values, 8, 1);
    shmem_ctx_long_put_nbi(both[1], y, values, 8, 1);
    if (right) shmem_ctx_quiet(both[0]);
    shmem_ctx_quiet(both[1]);
    (void)shmem_long_g(y, 1);
    (void)shmem_long_g(x, 1);
  }
  end_contexts();
}
/* The same, once there have been more contexts than the checker tells apart. */
static void put_after_many_teams(void) {
  for (int i = 0; i < 8; ++i) {
    shmem_team_t team;
    shmem_ctx_t context;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &team);
    if (shmem_team_create_ctx(team, 0, &context) != 0) exit(3);
    if (me == 0) shmem_ctx_long_p(context, &dest[i], i, 1);
    shmem_team_destroy(team); /* ends the context, too */
  }
  put_of_an_earlier_context();
}
static void dest_of_an_earlier_context(void) {
  make_contexts();
  if (me == 0) {
    shmem_ctx_long_get_nbi(both[0], dest, x, 8, 1);
    shmem_ctx_long_get_nbi(both[1], sink, y, 8, 1);
    if (right) shmem_ctx_quiet(both[0]);
    shmem_ctx_quiet(both[1]);
    (void)shmem_long_g(dest, 0);
  }
  end_contexts();
}
static void fence_of_a_later_context(void) {
  make_contexts();
  if (me == 0) {
    shmem_ctx_long_put(both[0], x, values, 8, 1);
    shmem_ctx_long_put(both[1], y, values, 8, 1);
    if (right) shmem_ctx_quiet(both[0]);
    shmem_ctx_fence(both[1]);
    shmem_ctx_long_atomic_set(both[1], &flag, 1, 1);
  } else if (me == 1) {
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    shmem_long_get(sink, y, 8, 1);
    shmem_long_get(sink, x, 8, 1);
  }
  end_contexts();
}
/* No mistake: the answer says that the put has arrived, and so has its source been read. */
static void answer_to_a_context(void) {
  make_contexts();
  if (me == 0) {
    shmem_ctx_long_put_nbi(both[1], x, y, 8, 1);
    shmem_ctx_fence(both[1]);
    shmem_ctx_long_atomic_set(both[1], &flag, 1, 1);
    shmem_signal_wait_until(&signal2, SHMEM_CMP_EQ, 1);
    shmem_long_p(x, 8, 1);
    shmem_long_p(y, 8, 0);
  } else if (me == 1) {
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    shmem_signal_set(&signal2, 1, 0);
  }
  end_contexts();
}
/* No mistake: a barrier completes the work of all contexts, more than the checker tells apart. */
static void many_contexts(void) {
  enum { kContexts = 20 };
  shmem_ctx_t many[kContexts];
  for (int i = 0; i < kContexts; ++i) {
    if (shmem_ctx_create(0, &many[i]) != 0) exit(3);
    if (me == 0) shmem_ctx_long_p(many[i], &dest[i], i, 1);
  }
  shmem_barrier_all();
  for (int i = 0; i < kContexts; ++i) {
    if (me == 1) (void)shmem_long_g(&dest[i], 1);
    shmem_ctx_destroy(many[i]);
  }
}
/* No mistake: a write of a PE to itself is done on return. */
static void own_writes_of_a_context(void) {
  make_contexts();
  if (me == 0) {
    shmem_ctx_long_p(both[1], x, 7, 0);
    shmem_ctx_long_atomic_add(both[1], &flag, 1, 0);
    shmem_ctx_long_put_signal(both[1], y, values, 8, &signal1, 1, SHMEM_SIGNAL_SET, 0);
  }
  shmem_barrier_all();
  if (me == 1) {
    (void)shmem_long_g(x, 0);
    (void)shmem_long_g(&flag, 0);
    (void)shmem_uint64_g(&signal1, 0);
    shmem_long_get(sink, y, 8, 0);
  }
  end_contexts();
}
/* No mistake: a PE that has seen a signal's new count has seen the puts of both contexts. */
static void signals_of_two_contexts(void) {
  make_contexts();
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 2 && me == 0; ++i)
      shmem_ctx_long_put_signal_nbi(both[i], i ? y : x, values, 8, &signal1, 1, SHMEM_SIGNAL_ADD,
                                    1);
    if (me == 1) {
      shmem_signal_wait_until(&signal1, SHMEM_CMP_EQ, (uint64_t)(2 * (round + 1)));
      shmem_long_get(sink, x, 8, 1);
      shmem_long_get(sink, y, 8, 1);
    }
    shmem_barrier_all();
  }
  end_contexts();
}
/* No mistake: a context's quiet completes its work from when the checker had no number for it. */
static void context_that_waits_for_a_number(void) {
  enum { kContexts = 8, kLast = kContexts - 1 };
  shmem_ctx_t many[kContexts];
  for (int i = 0; i < kContexts; ++i) {
    if (shmem_ctx_create(0, &many[i]) != 0) exit(3);
    if (me == 0) shmem_ctx_long_p(many[i], &dest[i], i, 1);
  }
  shmem_ctx_destroy(many[0]);
  if (me == 0) {
    shmem_ctx_long_p(many[kLast], x, 1, 1);
    shmem_ctx_quiet(many[kLast]);
    (void)shmem_long_g(&dest[kLast], 1);
  }
  for (int i = 1; i < kContexts; ++i) shmem_ctx_destroy(many[i]);
}
/* No mistake: a fence orders a put and an atomic. */
static void fetch_behind_fence(void) {
  shmem_long_p(x, 1, (me + 1) % n);
  shmem_fence();
  (void)shmem_long_atomic_fetch(x, (me + 1) % n);
}
/* No mistake: the answer says that the put has arrived, and so has its source been read. */
static void answer_without_quiet(void) {
  long from = 7;
  if (me == 0) {
    shmem_long_put_signal_nbi(x, &from, 1, &signal1, 1, SHMEM_SIGNAL_SET, 1);
    shmem_signal_wait_until(&signal2, SHMEM_CMP_EQ, 1);
    shmem_long_get(&from, x, 1, 1);
    shmem_long_p(x, 8, 1);
  } else if (me == 1) {
    shmem_signal_wait_until(&signal1, SHMEM_CMP_EQ, 1);
    shmem_signal_set(&signal2, 1, 0);
  }
}
static void atomic_get(void) {
  if (me == 0) shmem_long_atomic_add(x, 1, 1);
  barrier_if_right();
  if (me == 1) (void)shmem_long_g(x, 1);
}
static void atomic_put(void) {
  if (me == 0) (void)shmem_long_atomic_fetch_inc(x, 0);
  barrier_if_right();
  if (me == 1) shmem_long_put(x, values, 1, 0);
}
static void swap_get(void) {
  if (me == 0) (void)shmem_long_atomic_compare_swap(x, 0, 1, 1);
  barrier_if_right();
  if (me == 1) (void)shmem_long_g(x, 1);
}
static void failed_swap_put(void) {
  if (me == 0) (void)shmem_long_atomic_compare_swap(x, 5, 6, 1);
  barrier_if_right();
  if (me == 1) shmem_long_put(x, values, 1, 1);
}
/* No mistake: compare-and-swaps that fail only load, before and after the loads of the other PE. */
static void failed_swaps(void) {
  if (me == 1) (void)shmem_int_g((int*)x, 1);
  if (me == 0) usleep(50000);
  for (int i = 0; i < 2 && me == 0; ++i) (void)shmem_int_atomic_compare_swap((int*)x, -5, 6, 1);
  if (me == 1) usleep(100000);
  if (me == 1) (void)shmem_int_g((int*)x, 1);
}
static void signal_get(void) {
  if (me == 0) shmem_signal_set(&signal1, 1, 1);
  barrier_if_right();
  if (me == 1) (void)shmem_uint64_g(&signal1, 1);
}
static void dest_of_reduction(void) {
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, x, 8);
  if (right) shmem_sync_all();
  if (me == 0) shmem_long_get(sink, dest, 8, 1);
}
static void source_of_reduction(void) {
  if (me == 0) shmem_long_put(x, values, 8, 1);
  barrier_if_right();
  shmem_long_max_reduce(SHMEM_TEAM_WORLD, dest, x, 8);
}
static void dest_of_collect(void) {
  shmem_long_fcollect(SHMEM_TEAM_WORLD, dest, x, 8);
  if (right) shmem_sync_all();
  if (me == 0) shmem_long_p(dest + 9, 1, 1);
}
/* PE i sends PE j i + j + 1 elements, each block two behind the end of the one before. */
static void make_counts(size_t* nelems, size_t* displs) {
  size_t at = 0;
  for (int pe = 0; pe < n; ++pe) {
    nelems[pe] = (size_t)(me + pe + 1);
    displs[pe] = at;
    at += nelems[pe] + 2;
  }
}
static void source_of_alltoallv(void) {
  size_t nelems[8], displs[8];
  make_counts(nelems, displs);
  if (me == 0) shmem_long_p(source + 3 + !right, 7, 1); /* PE 1's second block begins at 4 */
  shmemx_long_alltoallv(SHMEM_TEAM_WORLD, dest, nelems, displs, source, nelems, displs);
}
static void dest_of_alltoallv(void) {
  size_t nelems[8], displs[8];
  make_counts(nelems, displs);
  shmemx_long_alltoallv(SHMEM_TEAM_WORLD, dest, nelems, displs, source, nelems, displs);
  if (me == 0) shmem_long_get(sink, dest + 1 + right, 1, 1); /* PE 1's first block has 2 elements */
}
static void dest_of_alltoallv_of_bytes(void) {
  size_t nelems[8], displs[8];
  make_counts(nelems, displs);
  shmemx_alltoallvmem(SHMEM_TEAM_WORLD, dest, nelems, displs, source, nelems, displs);
  if (me == 0) shmem_char_p((char*)dest + 1 + right, 1, 1);
}
static void lock_of_one(void) {
  if (me == 0 || right) shmem_set_lock(&lock);
  if (me < 2) shmem_long_put(heap, values, 2, 0);
  if (me == 0 || right) shmem_clear_lock(&lock);
}
static void wrong_signal(void) {
  if (me == 0) {
    shmem_long_put_signal(x, values, 8, &signal1, 1, SHMEM_SIGNAL_SET, 1);
    shmem_long_put_signal_nbi(y, values, 8, &signal2, 1, SHMEM_SIGNAL_ADD, 1);
  } else if (me == 1) {
    shmem_signal_wait_until(&signal1, SHMEM_CMP_EQ, 1);
    if (right) shmem_signal_wait_until(&signal2, SHMEM_CMP_EQ, 1);
    shmem_long_get(sink, y, 8, 1);
  }
}
/* The checker does not see what PE 1 waits for, unless it is to expect such waits. */
static void own_loads(void) {
  if (me == 0) {
    shmem_long_put(x, values, 8, 1);
    if (right) shmem_fence();
    shmem_long_p(&flag, 1, 1);
  } else if (me == 1) {
    while (*(volatile long*)&flag == 0) sched_yield();
    shmem_long_get(sink, x, 8, 1);
    shmem_long_p(&flag, 0, 1);
  }
}
static void own_loads_of_signal(void) {
  if (me == 0) {
    shmem_long_put_signal(x, values, 8, &signal1, 1, SHMEM_SIGNAL_SET, 1);
    if (!right) shmem_long_put(y, values, 8, 1);
    shmem_long_p(&flag, 1, 1);
  } else if (me == 1) {
    while (*(volatile uint64_t*)&signal1 == 0 || *(volatile long*)&flag == 0) sched_yield();
    shmem_long_get(sink, x, 8, 1);
    shmem_long_get(sink, y, 8, 1);
  }
}
static void own_loads_of_two_signals(void) {
  make_contexts();
  for (int i = 0; i < 2 && me == 0; ++i)
    shmem_ctx_long_put_signal(both[i], i ? y : x, values, 1, i ? &signal2 : &signal1, 1,
                              SHMEM_SIGNAL_SET, 1);
  if (me == 1) {
    while (*(volatile uint64_t*)&signal1 == 0 || *(volatile uint64_t*)&signal2 == 0) sched_yield();
    (void)shmem_long_g(x, 1);
    (void)shmem_long_g(y, 1);
  }
  end_contexts();
}
static void count_without_quiet(void) {
  if (me == 0) {
    shmem_long_put(x, values, 8, 1);
    if (right) shmem_quiet();
    (void)shmem_long_atomic_fetch_add(&flag, 1, 1);
  } else if (me == 1) {
    while (!shmem_long_test(&flag, SHMEM_CMP_EQ, 1)) {
    }
    shmem_long_get(sink, x, 8, 1);
  }
}
static void told_by_a_third(void) {
  const int last = n - 1;
  if (me == 0) {
    shmem_long_put(x, values, 8, last);
    if (right) shmem_quiet();
    shmem_long_atomic_set(&flag, 1, 1);
  }
  if (me == 1) {
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    shmem_long_atomic_set(&flag2, 1, last);
  }
  if (me == last) {
    shmem_long_wait_until(&flag2, SHMEM_CMP_EQ, 1);
    shmem_long_get(sink, x, 8, me);
  }
}
/* Requests of no bytes are no collectives, so PEs may differ in them. */
static void requests_of_nothing(void) {
  for (int i = 0; i < me; ++i) {
    (void)shmem_malloc(0);
    (void)shmem_calloc(0, 8);
    (void)shmem_calloc(8, 0);
    (void)shmem_align(64, 0);
    (void)shmem_malloc_with_hints(0, 0);
    (void)shmem_realloc(NULL, 0);
    shmem_free(NULL);
  }
  for (long round = 0; round < 10; ++round) {
    if (me == 0) shmem_long_p(x, round, 1);
    shmem_barrier_all();
    if (me == 1) (void)shmem_long_g(x, 1);
    if (right || round < 9) shmem_barrier_all();
  }
  if (me == 0) shmem_long_p(x, 10, 1);
}
/* If both puts come before the first wait, that wait sees the second signal and there is no race.
   So PE 0 waits for the answer in any case, but by a load, which orders nothing for the checker. */
static void no_answer(void) {
  for (uint64_t i = 1; i <= 2; ++i) {
    if (me == 0) {
      shmem_long_put_signal(x, values, 8, &signal1, i, SHMEM_SIGNAL_SET, 1);
      if (right) shmem_signal_wait_until(&signal2, SHMEM_CMP_GE, i);
      while (*(volatile uint64_t*)&signal2 < i) sched_yield();
    } else if (me == 1) {
      shmem_signal_wait_until(&signal1, SHMEM_CMP_GE, i);
      shmem_long_get(sink, x, 8, 1);
      shmem_signal_set(&signal2, i, 0);
    }
  }
}

/* PE 1 may see the first signal of two that set the same value. If it has told PE 0 in between, it
 * sees the second. */
static void reused_signal(void) {
  for (int i = 0; i < 4; ++i) {
    if (me == 0) shmem_long_put_signal(i % 2 ? y : x, values, 8, &signal1, 1, SHMEM_SIGNAL_SET, 1);
    if (!right && i == 0) continue;
    if (!right) usleep(50000); /* both have come */
    if (me == 1) {
      shmem_signal_wait_until(&signal1, SHMEM_CMP_EQ, 1);
      shmem_long_get(sink, i % 2 ? y : x, 8, 1);
      signal1 = 0;
      if (i % 2) shmem_signal_add(&signal2, 1, 0);
    }
    if (!right) return;
    if (me == 0 && i % 2) shmem_signal_wait_until(&signal2, SHMEM_CMP_EQ, i / 2 + 1);
    if (i % 2 == 0) shmem_sync_all();
  }
}

/* No mistake in any case: a team of the first two, of which nothing is left. */
static void team_of_two(void) {
  shmem_team_t team;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 2, NULL, 0, &team);
  if (team == SHMEM_TEAM_INVALID) return;
  shmem_long_p(x, 1, 1 - me);
  shmem_quiet();
  shmem_team_sync(team);
  (void)shmem_long_g(x, me);
  shmem_long_sum_reduce(team, dest, x, 8);
  shmem_team_destroy(team);
}

/* Nor here: threads split teams of their own parents, all at once. The teams have the same members,
   and each PE gets to know them in another order. */
enum { kThreads = 4, kTeamsOfThread = 150 };
static shmem_team_t parents[kThreads];
static void* split_often(void* parent) {
  long* const mine = heap + ((shmem_team_t*)parent - parents);
  for (int i = 0; i < kTeamsOfThread; ++i) {
    shmem_team_t team;
    shmem_team_split_strided(*(shmem_team_t*)parent, 0, 1, n, NULL, 0, &team);
    for (long value = 0; value < 2; ++value) {
      shmem_long_put(mine, &value, 1, (me + 1) % n);
      shmem_quiet();
      shmem_team_sync(team);
      (void)shmem_long_g(mine, me);
      shmem_team_sync(team);
    }
    shmem_team_destroy(team);
  }
  return NULL;
}
static void teams_of_threads(void) {
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i)
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &parents[i]);
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, split_often, &parents[i]);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < kThreads; ++i) shmem_team_destroy(parents[i]);
}

/* Mistakes that end the job with a line, which races.py has. */

static void negative_count(void) {
  if (!right) shmem_long_put(x, values, (size_t)-3, 0);
}
static void negative_stride(void) {
  if (!right) shmem_long_iput(x, values, 2, 1, (size_t)-3, 0);
}
static void negative_reduction(void) {
  if (!right) shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, source, (size_t)-3);
}
static void destroyed_team(void) {
  shmem_team_t team;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &team);
  shmem_team_destroy(team);
  if (!right) shmem_team_sync(team);
}
static void destroyed_context(void) {
  shmem_ctx_t context;
  shmem_ctx_create(0, &context);
  shmem_ctx_destroy(context);
  if (!right) shmem_ctx_long_p(context, &heap[me], 1, me);
}

static double seconds_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static shmem_ctx_t shared_context;
/* At once with the other thread: each runs so long that it is often interrupted by the other. */
static void* put_often(void* both_are_there) {
  if (both_are_there) pthread_barrier_wait(both_are_there);
  const double run = both_are_there ? 0.1 : 0.01;
  const double end = seconds_of(CLOCK_THREAD_CPUTIME_ID) + run;
  while (seconds_of(CLOCK_THREAD_CPUTIME_ID) < end)
    for (int i = 0; i < 1000; ++i) shmem_ctx_long_p(shared_context, &heap[me], 1, me);
  return NULL;
}
/* By two threads at once, or one after the other. */
static void put_by_threads(int after_each_other) {
  pthread_t thread;
  pthread_barrier_t both_are_there;
  pthread_barrier_init(&both_are_there, NULL, 2);
  void* const argument = after_each_other ? NULL : &both_are_there;
  pthread_create(&thread, NULL, put_often, argument);
  if (after_each_other) pthread_join(thread, NULL);
  put_often(argument);
  if (!after_each_other) pthread_join(thread, NULL);
}
static void private_context(void) {
  shmem_ctx_create(SHMEM_CTX_PRIVATE, &shared_context);
  if (right)
    put_often(NULL);
  else
    put_by_threads(1);
  shmem_ctx_destroy(shared_context);
}
static void serialized_context(void) {
  shmem_ctx_create(SHMEM_CTX_SERIALIZED, &shared_context);
  put_by_threads(right);
  shmem_ctx_destroy(shared_context);
}
static void serialized_threads(void) {
  shared_context = SHMEM_CTX_DEFAULT;
  put_by_threads(right);
}
static void single_thread(void) {
  shared_context = SHMEM_CTX_DEFAULT;
  if (right)
    put_often(NULL);
  else
    put_by_threads(1);
}
static void freed_block(void) {
  long* block = shmem_malloc(8 * sizeof *block);
  shmem_free(block);
  if (!right) shmem_long_put(block, values, 8, me);
}
static void unaligned_atomic(void) {
  if (!right) shmem_long_atomic_inc((long*)((char*)heap + 4), me);
}

// Once more and again, behind the end of the first: what stays mapped does not grow.
static int rounds(void) {
  enum { kRounds = 3 };
  long pages[kRounds] = {0};
  for (int i = 0; i < kRounds; ++i) {
    shmem_init();
    shmem_barrier_all();
    shmem_finalize();
    FILE* file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld", &pages[i]) != 1) return 2;
    fclose(file);
  }
  const long mib = (pages[kRounds - 1] - pages[0]) * sysconf(_SC_PAGESIZE) >> 20;
  if (mib > 256) printf("%ld MiB more are mapped\n", mib);
  return mib > 256;
}

static double seconds(void) { return seconds_of(CLOCK_MONOTONIC); }
static void print_cost(const char* what, double begin, double calls) {
  if (me == 0) printf("%s: %.0f ns\n", what, (seconds() - begin) / calls * 1e9);
}
static void cost(void) {
  enum { kCalls = 100000, kBytes = 1 << 20 };
  char* bytes = shmem_malloc(kBytes);
  char* from = shmem_malloc(kBytes);
  shmem_barrier_all();
  double begin = seconds();
  for (int i = 0; i < kCalls && me == 0; ++i) shmem_long_p(heap, i, 1);
  print_cost("shmem_long_p", begin, kCalls);
  shmem_barrier_all();
  begin = seconds();
  for (int i = 0; i < 100 && me == 0; ++i) shmem_putmem(bytes, from, kBytes, 1);
  print_cost("shmem_putmem of 1 MiB", begin, 100);
  shmem_barrier_all();
  begin = seconds();
  for (int i = 0; i < 1000; ++i) shmem_barrier_all();
  print_cost("shmem_barrier_all", begin, 1000);
}

static const struct {
  const char* name;
  void (*run)(void);
} cases[] = {
#define CASE(name) {#name, name},
    CASE(put_get) CASE(often) CASE(p_g) CASE(put_put) CASE(get_p) CASE(iput_get) CASE(
        sync_without_quiet) CASE(team_sync_without_quiet) CASE(signal_of_another_put)
        CASE(flag_without_fence) CASE(last_pe_without_fence) CASE(flag_without_context_fence) CASE(
            flag_before_data) CASE(dest_before_quiet) CASE(dest_before_destroy)
            CASE(source_before_quiet) CASE(own_source_before_quiet) CASE(atomic_fetch_put) CASE(
                get_of_own_put) CASE(quiet_of_another_context) CASE(put_of_an_earlier_context)
                CASE(put_after_many_teams) CASE(dest_of_an_earlier_context) CASE(
                    fence_of_a_later_context) CASE(answer_to_a_context) CASE(many_contexts)
                    CASE(own_writes_of_a_context) CASE(signals_of_two_contexts) CASE(
                        context_that_waits_for_a_number) CASE(answer_without_quiet)
                        CASE(fetch_behind_fence) CASE(atomics_of_two_widths) CASE(
                            atomics_of_two_teams) CASE(atomics_of_a_float)
                            CASE(atomics_of_one_width) CASE(atomic_get) CASE(atomic_put) CASE(
                                signal_get) CASE(swap_get) CASE(failed_swap_put) CASE(failed_swaps)
                                CASE(dest_of_reduction) CASE(source_of_reduction)
                                    CASE(dest_of_collect) CASE(source_of_alltoallv) CASE(
                                        dest_of_alltoallv) CASE(dest_of_alltoallv_of_bytes)
                                        CASE(lock_of_one) CASE(wrong_signal) CASE(own_loads) CASE(
                                            own_loads_of_signal) CASE(own_loads_of_two_signals)
                                            CASE(count_without_quiet) CASE(told_by_a_third) CASE(
                                                requests_of_nothing) CASE(no_answer)
                                                CASE(reused_signal) CASE(team_of_two) CASE(
                                                    teams_of_threads) CASE(cost)
                                                    CASE(negative_count) CASE(negative_stride) CASE(
                                                        negative_reduction) CASE(destroyed_team)
                                                        CASE(destroyed_context)
                                                            CASE(private_context)
                                                                CASE(serialized_context)
                                                                    CASE(serialized_threads)
                                                                        CASE(single_thread)
                                                                            CASE(freed_block) CASE(
                                                                                unaligned_atomic)
#undef CASE
};

static int is_apart(void (*run)(void)) {
  return run == cost || run == own_loads || run == own_loads_of_signal ||
         run == own_loads_of_two_signals || run == teams_of_threads;
}

static int status_of_a_child(void) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) exit(0);
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  right = argc > 2 && strcmp(argv[2], "right") == 0;
  int provided;
  if (strcmp(argv[1], "single_thread") == 0)
    shmem_init();
  else if (strcmp(argv[1], "serialized_threads") == 0)
    shmem_init_thread(SHMEM_THREAD_SERIALIZED, &provided);
  else
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
  me = shmem_my_pe();
  n = shmem_n_pes();
  heap = shmem_calloc(8, sizeof *heap);
  shmem_barrier_all();
  int found = 0;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    if (strcmp(cases[i].name, argv[1]) != 0 && strcmp("all", argv[1]) != 0) continue;
    if (strcmp("all", argv[1]) == 0 && is_apart(cases[i].run)) continue;
    found = 1;
    cases[i].run();
    shmem_barrier_all();
    flag = flag2 = 0;
    signal1 = signal2 = 0;
    shmem_barrier_all();
  }
  shmem_finalize();
  if (strcmp(argv[1], "rounds") == 0) return rounds();
  if (argc > 2 && strcmp(argv[2], "child") == 0) printf("child %d\n", status_of_a_child());
  return found ? 0 : 2;
}
