// SPDX-License-Identifier: Apache-2.0
//
// Atomics: PEs share out work among themselves with a counter that lives on PE 0. A PE that is free
// takes the next task, so a slow PE does fewer tasks and none waits for another. The work is to
// count the prime numbers below a million, a thousand numbers a task.
// Run it:
//   oshcc 03_atomic_counter.c -o counter && oshrun -n 4 ./counter

#include <shmem.h>
#include <stdio.h>

enum { kTasks = 1000, kNumbersPerTask = 1000, kPrimesBelowAMillion = 78498 };

static long next_task;  // every PE has one, as it is static; only PE 0's is used
static long primes;     // and here, too

static int is_prime(long number) {
  if (number % 2 == 0) return number == 2;
  for (long divisor = 3; divisor * divisor <= number; divisor += 2) {
    if (number % divisor == 0) return 0;
  }
  return number > 1;
}

static long primes_of_task(long task) {
  long found = 0;
  for (long i = 0; i < kNumbersPerTask; ++i) found += is_prime(task * kNumbersPerTask + i);
  return found;
}

int main(void) {
  shmem_init();

  // fetch_inc gets the counter's value and adds 1 to it in one indivisible step: no two PEs get the
  // same task. PE 0 must do it this way too; a plain next_task++ of its own could lose an addition.
  long done = 0;
  for (;;) {
    long task = shmem_long_atomic_fetch_inc(&next_task, 0);
    if (task >= kTasks) break;
    shmem_long_atomic_add(&primes, primes_of_task(task), 0);
    ++done;
  }
  printf("PE %d did %ld tasks\n", shmem_my_pe(), done);

  shmem_barrier_all();  // all additions have arrived
  int failed = 0;
  if (shmem_my_pe() == 0) {
    printf("%d tasks: %ld primes below %d\n", kTasks, primes, kTasks * kNumbersPerTask);
    failed = primes != kPrimesBelowAMillion;
  }
  shmem_finalize();
  return failed;
}
