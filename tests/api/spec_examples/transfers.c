/* SPDX-License-Identifier: Apache-2.0
 *
 * Puts, gets, direct access, fence, quiet and put-with-signal. */
#include <shmem.h>
#include <stdlib.h>

#include "examples.h"

enum { kWords = 12 };

/* PE 0 hands a number to its neighbour. */
static int put_one(void) {
  static int inbox;
  const int to = 1 % shmem_n_pes();
  inbox = -1;
  shmem_barrier_all();
  if (shmem_my_pe() == 0) {
    const int gift = 61;
    shmem_put(&inbox, &gift, 1, to);
  }
  shmem_barrier_all();
  return shmem_my_pe() == to ? inbox != 61 : inbox != -1;
}

/* PE 0 gives every other PE a copy of an array that is not symmetric. */
static int put_array_to_all(void) {
  static short copy[kWords];
  short original[kWords];
  for (int i = 0; i < kWords; ++i) original[i] = (short)(100 - 7 * i), copy[i] = 0;
  shmem_barrier_all();
  if (shmem_my_pe() == 0)
    for (int pe = 1; pe < shmem_n_pes(); ++pe) shmem_put(copy, original, kWords, pe);
  shmem_barrier_all();
  int wrong = 0;
  for (int i = 0; i < kWords; ++i) wrong += copy[i] != (shmem_my_pe() == 0 ? 0 : 100 - 7 * i);
  return wrong;
}

/* A double written alone, and one read back. */
static int single_elements(void) {
  static double level;
  const int me = shmem_my_pe(), n = shmem_n_pes();
  level = 0.5;
  shmem_barrier_all();
  shmem_p(&level, me + 0.125, (me + 1) % n);
  shmem_barrier_all();
  const double first = shmem_g(&level, 0), mine = shmem_g(&level, me);
  return (first != n - 1 + 0.125) + (mine != (me + n - 1) % n + 0.125);
}

/* Every third element of a source, packed at its destination. */
static int strided_put(void) {
  static long packed[4];
  const int me = shmem_my_pe(), n = shmem_n_pes();
  long source[kWords];
  for (int i = 0; i < kWords; ++i) source[i] = 1000 * me + i;
  shmem_barrier_all();
  shmem_iput(packed, source, 1, 3, 4, (me + 1) % n);
  shmem_barrier_all();
  int wrong = 0;
  for (int i = 0; i < 4; ++i) wrong += packed[i] != 1000L * ((me + n - 1) % n) + 3 * i;
  return wrong;
}

/* Where memory is shared, the other PE's array is filled by ordinary stores. */
static int direct_access(void) {
  static int squares[8];
  const int n = shmem_n_pes();
  for (int i = 0; i < 8; ++i) squares[i] = 0;
  shmem_barrier_all();
  int* theirs = shmem_ptr(squares, (shmem_my_pe() + 1) % n);
  for (int i = 0; i < 8; ++i) {
    if (theirs)
      theirs[i] = i * i;
    else
      shmem_p(&squares[i], i * i, (shmem_my_pe() + 1) % n);
  }
  shmem_barrier_all();
  int wrong = 0;
  for (int i = 0; i < 8; ++i) wrong += squares[i] != i * i;
  return wrong;
}

/* One fence orders what goes to two PEs: data, then a flag. */
static int fence_for_two(void) {
  static long data[2][kWords], flag[2];
  const int me = shmem_my_pe(), n = shmem_n_pes();
  long source[kWords];
  for (int i = 0; i < kWords; ++i) source[i] = me - i;
  flag[0] = flag[1] = 0;
  shmem_barrier_all();
  for (int hop = 0; hop < 2; ++hop) shmem_put(data[hop], source, kWords, (me + 1 + hop) % n);
  shmem_fence();
  for (int hop = 0; hop < 2; ++hop) shmem_atomic_set(&flag[hop], 1L, (me + 1 + hop) % n);
  int wrong = 0;
  for (int hop = 0; hop < 2; ++hop) {
    shmem_wait_until(&flag[hop], SHMEM_CMP_EQ, 1L);
    const int from = (me + 2 * n - 1 - hop) % n;
    for (int i = 0; i < kWords; ++i) wrong += data[hop][i] != from - i;
  }
  return wrong;
}

/* After quiet, the writer itself reads back what it put to two PEs. */
static int quiet_then_get(void) {
  static long block[3];
  static int word;
  const int near = 1 % shmem_n_pes(), far = 2 % shmem_n_pes();
  int wrong = 0;
  if (shmem_my_pe() == 0) {
    const long source[3] = {7, -8, 9};
    const int number = 31;
    long back[3];
    int back_word = 0;
    shmem_put_nbi(block, source, 3, near);
    shmem_put(&word, &number, 1, far);
    shmem_quiet();
    shmem_get(back, block, 3, near);
    shmem_get(&back_word, &word, 1, far);
    wrong = (back[0] != 7) + (back[1] != -8) + (back[2] != 9) + (back_word != 31);
  }
  return wrong;
}

/* A message goes once around all PEs, each passing it on when its signal says that it is there. */
static int signal_relay(void) {
  static uint64_t arrived;
  const int me = shmem_my_pe(), n = shmem_n_pes();
  const size_t size = 1500;
  uint64_t* message = shmem_calloc(size, sizeof *message);
  uint64_t* start = malloc(size * sizeof *start);
  if (!message || !start) return 1;
  for (size_t i = 0; i < size; ++i) start[i] = i * i + 5;
  arrived = 0;
  shmem_barrier_all();
  if (me == 0) shmem_put_signal(message, start, size, &arrived, 3, SHMEM_SIGNAL_SET, 1 % n);
  shmem_signal_wait_until(&arrived, SHMEM_CMP_EQ, 3);
  if (me != 0)
    shmem_put_signal(message, message, size, &arrived, 3, SHMEM_SIGNAL_SET, (me + 1) % n);
  int wrong = 0;
  for (size_t i = 0; i < size; ++i) wrong += message[i] != i * i + 5;
  free(start);
  shmem_free(message);
  return wrong;
}

const struct SpecExample transfer_examples[] = {{"put_one", put_one},
                                                {"put_array_to_all", put_array_to_all},
                                                {"single_elements", single_elements},
                                                {"strided_put", strided_put},
                                                {"direct_access", direct_access},
                                                {"fence_for_two", fence_for_two},
                                                {"quiet_then_get", quiet_then_get},
                                                {"signal_relay", signal_relay},
                                                {0, 0}};
