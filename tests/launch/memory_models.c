/* SPDX-License-Identifier: Apache-2.0
 *
 * The litmus programs of docs/memory_model.md that compare the proposed formal model of OpenSHMEM
 * with meshmem's rules: memory_models PROGRAM, on three PEs. The page says which have a race.
 * Invariant: each function has one pair of accesses that may race. PE 0 writes, PE 1 reads.
 */
#include <shmem.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static int me;
static long x[2], flag, lock;
static volatile long sink; /* so that the compiler keeps the loads */
static _Atomic long flag_of_c;
static uint64_t signal1, signal2;
static const long values[2] = {7, 8};

static void put_fence_flag(void) {
  if (me == 0) shmem_long_put(x, values, 2, 1);
  if (me == 0) shmem_fence();
  if (me == 0) shmem_long_atomic_set(&flag, 1, 1);
  if (me != 1) return;
  shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
  sink = x[0];
}
static void put_flag(void) {
  if (me == 0) shmem_long_put(x, values, 2, 1);
  if (me == 0) shmem_long_atomic_set(&flag, 1, 1);
  if (me != 1) return;
  shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
  sink = x[0];
}
static void put_with_signal(void) {
  if (me == 0) shmem_long_put_signal_nbi(x, values, 2, &signal1, 1, SHMEM_SIGNAL_SET, 1);
  if (me != 1) return;
  shmem_signal_wait_until(&signal1, SHMEM_CMP_EQ, 1);
  sink = x[0];
}
static void put_sync(void) {
  if (me == 0) shmem_long_put(x, values, 2, 1);
  shmem_sync_all();
  if (me == 1) sink = x[0];
}
static void get_before_quiet(void) {
  if (me == 1) shmem_long_get_nbi(x, x, 1, 0);
  if (me == 1) sink = x[0];
}
/* The fence orders the put to PE 2 and the flag of PE 1, which are of different PEs. */
static void fence_of_two_pes(void) {
  if (me == 0) shmem_long_put(x, values, 2, 2);
  if (me == 0) shmem_fence();
  if (me == 0) shmem_long_atomic_set(&flag, 1, 1);
  if (me != 1) return;
  shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
  sink = shmem_long_g(x, 2);
}
static void store_signal(void) {
  if (me == 0) x[0] = 7;
  if (me == 0) shmem_signal_set(&signal1, 1, 1);
  if (me != 1) return;
  shmem_signal_wait_until(&signal1, SHMEM_CMP_EQ, 1);
  sink = shmem_long_g(x, 0);
}
static void store_sync(void) {
  if (me == 0) x[0] = 7;
  shmem_sync_all();
  if (me == 1) sink = shmem_long_g(x, 0);
}
static void fetch_of_far_flag(void) {
  if (me == 0) shmem_long_put(x, values, 2, 1);
  if (me == 0) shmem_quiet();
  if (me == 0) shmem_long_atomic_set(&flag, 1, 0);
  if (me != 1) return;
  while (shmem_long_atomic_fetch(&flag, 0) == 0) continue;
  sink = x[0];
}
static void flag_by_p(void) {
  if (me == 0) shmem_long_put(x, values, 2, 1);
  if (me == 0) shmem_fence();
  if (me == 0) shmem_long_p(&flag, 1, 1);
  if (me != 1) return;
  shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
  sink = x[0];
}
static void wait_by_c(void) {
  if (me == 0) shmem_long_put(x, values, 2, 1);
  if (me == 0) shmem_fence();
  if (me == 0) shmem_long_atomic_set((long*)&flag_of_c, 1, 1);
  if (me != 1) return;
  while (atomic_load_explicit(&flag_of_c, memory_order_acquire) == 0) continue;
  sink = x[0];
}
static void lock_handed_over(void) {
  if (me == 2) return;
  shmem_set_lock(&lock);
  if (me == 0) shmem_long_p(x, 7, 1);
  if (me == 1) sink = x[0];
  shmem_clear_lock(&lock);
}
static void atomics_of_two_widths(void) {
  if (me == 0) shmem_long_atomic_inc(x, 1);
  if (me == 1) shmem_int_atomic_inc((int*)x, 1);
}
static void two_puts_with_signal(void) {
  if (me == 0) shmem_long_put_signal(x, values, 2, &signal1, 1, SHMEM_SIGNAL_SET, 1);
  if (me == 2) shmem_long_put_signal(x, values, 2, &signal2, 1, SHMEM_SIGNAL_SET, 1);
}
static void quiet_of_another_context(void) {
  shmem_ctx_t context;
  if (shmem_ctx_create(0, &context) != 0) return;
  if (me == 0) shmem_ctx_long_put_nbi(context, x, values, 2, 1);
  if (me == 0) shmem_quiet();
  shmem_sync_all();
  if (me == 1) sink = x[0];
  shmem_ctx_destroy(context);
}
/* PE 1 is the root, which hears of no other PE. */
static void broadcast_to_the_writer(void) {
  static long dest, source;
  if (me == 0) shmem_long_put(x, values, 2, 1);
  if (me == 0) shmem_quiet();
  shmem_long_broadcast(SHMEM_TEAM_WORLD, &dest, &source, 1, 1);
  if (me == 1) sink = x[0];
}

static const struct {
  const char* name;
  void (*run)(void);
} programs[] = {
#define PROGRAM(name) {#name, name},
    PROGRAM(put_fence_flag) PROGRAM(put_flag) PROGRAM(put_with_signal) PROGRAM(put_sync)
        PROGRAM(get_before_quiet) PROGRAM(fence_of_two_pes) PROGRAM(store_signal)
            PROGRAM(store_sync) PROGRAM(fetch_of_far_flag) PROGRAM(flag_by_p) PROGRAM(wait_by_c)
                PROGRAM(lock_handed_over) PROGRAM(atomics_of_two_widths)
                    PROGRAM(two_puts_with_signal) PROGRAM(quiet_of_another_context)
                        PROGRAM(broadcast_to_the_writer)
#undef PROGRAM
};

int main(int argc, char** argv) {
  shmem_init();
  me = shmem_my_pe();
  for (size_t i = 0; i < sizeof programs / sizeof *programs; ++i) {
    if (argc < 2)
      puts(programs[i].name);
    else if (strcmp(programs[i].name, argv[1]) == 0)
      programs[i].run();
  }
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
