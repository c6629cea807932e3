/* SPDX-License-Identifier: Apache-2.0
 *
 * A program as it was written for SHMEM before OpenSHMEM 1.2: mpp/shmem.h, start_pes, and no
 * finalize, which the end of main does. C99, so that shmem_wait_until and shmem_sync are the
 * functions and not the type-generic forms.
 * Invariant: the last put of a PE is its last action in main. A function looks after the implicit
 * finalize whether it has arrived. exit calls it later since it was registered earlier.
 */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include <mpp/shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static long pSync[_SHMEM_REDUCE_SYNC_SIZE];
static int pWrk[_SHMEM_REDUCE_MIN_WRKDATA_SIZE + 1];
static int one[2] = {1, 2}, sum[2];
static long flag, farewell;
static int started;

static void expect(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "old_program: %s\n", what);
  _exit(1); /* not by exit, whose functions are what is tested */
}

static void after_the_end(void) {
  int initialized = -1;
  if (!started) return;
  shmem_query_initialized(&initialized);
  expect(initialized == 0, "S5: the end of the program did not finalize");
  expect(farewell == 77, "S5: the implicit finalize did not wait for all PEs");
}

static void sleep_ms(long milliseconds) {
  const struct timespec time = {0, milliseconds * 1000000};
  nanosleep(&time, NULL);
}

int main(void) {
  int i, me, n;
  atexit(after_the_end);
  start_pes(0);
  start_pes(0);
  me = _my_pe();
  n = _num_pes();
  for (i = 0; i < _SHMEM_REDUCE_SYNC_SIZE; ++i) pSync[i] = _SHMEM_SYNC_VALUE;
  shmem_barrier_all();

  shmem_int_sum_to_all(sum, one, 2, 0, 0, n, pWrk, pSync);
  expect(sum[0] == n && sum[1] == 2 * n, "the sum is wrong");
  shmem_barrier(0, 0, n, pSync);
  shmem_sync(0, 0, n, pSync);

  shmem_long_inc(&flag, (me + 1) % n);
  shmem_wait(&flag, 0);
  shmem_wait_until(&flag, _SHMEM_CMP_EQ, 1);
  expect(shmem_long_swap(&flag, 5, me) == 1, "the flag is not 1");

  /* Each PE comes to its end at another time, and only then writes to the next. */
  started = 1;
  sleep_ms(5 * (me % 4));
  shmem_long_p(&farewell, 77, (me + 1) % n);
  return 0;
}
