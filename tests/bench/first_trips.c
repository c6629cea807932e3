/* SPDX-License-Identifier: Apache-2.0
 * Round trips right after shmem_init, before the scheduler has parted PEs that start on one core.
 * Usage: first_trips wait | test | fetch: how PEs 0 and 1 wait for each other. PE 0 prints the
 * microseconds of
 * all trips together. */
#include <shmem.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { kTrips = 200 };

static int arrived = -1; /* symmetric, as it is static */

static void await(char how, int trip) {
  if (how == 'w') shmem_int_wait_until(&arrived, SHMEM_CMP_EQ, trip);
  while (how == 't' && !shmem_int_test(&arrived, SHMEM_CMP_EQ, trip)) continue;
  while (how == 'f' && shmem_int_atomic_fetch(&arrived, shmem_my_pe()) != trip) continue;
}

static double microseconds(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

int main(int argc, char** argv) {
  const char how = argc > 1 ? argv[1][0] : 'w';
  shmem_init();
  const int me = shmem_my_pe();
  const double begin = microseconds();
  for (int trip = 0; me < 2 && trip < kTrips; ++trip) {
    if (me == 0) shmem_int_p(&arrived, trip, 1);
    await(how, trip);
    if (me == 1) shmem_int_p(&arrived, trip, 0);
  }
  if (me == 0) printf("%.1f\n", microseconds() - begin);
  shmem_finalize();
  return 0;
}
