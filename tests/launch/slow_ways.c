/* SPDX-License-Identifier: Apache-2.0
 *
 * Each PE takes three times the way that the program's argument names. test_slow_ways.py lists the
 * slow ways, and the kind that the library reports for each.
 */
#include <shmemx.h>
#include <stdio.h>
#include <string.h>

enum { kElems = 4, kMany = 4096 };
static long on_host[kElems];
static long psync[SHMEM_BCAST_SYNC_SIZE];
static long* heap;
static long* device;
static uint64_t* signal_word;                  /* of the device */
static shmem_team_t late = SHMEM_TEAM_INVALID; /* which has a slot after the large ones */

static void gather_into_statics(void) { shmem_long_fcollect(SHMEM_TEAM_WORLD, device, on_host, 1); }
static void store(void) {
  shmem_long_p(device, 1, shmem_my_pe());
  shmem_quiet();
}
static void wait_for_device(void) {
  store();
  shmem_long_wait_until(device, SHMEM_CMP_EQ, 1);
}
static void sum(void) { shmem_long_sum_reduce(SHMEM_TEAM_WORLD, heap, heap, kElems); }
static void split(void) {
  shmem_team_t team;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, shmem_n_pes(), NULL, 0, &team);
  shmem_team_destroy(team);
}
static void sum_many(void) { shmem_long_sum_reduce(SHMEM_TEAM_WORLD, heap, heap, kMany); }
static void sum_many_of_device(void) {
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, device, device, kMany);
}
static void sum_on_stream(void) {
  shmemx_long_sum_reduce_on_stream(SHMEM_TEAM_WORLD, device, device, kElems, NULL);
  shmemx_quiet_on_stream(NULL);
}
static void scatter_sum(void) {
  shmemx_long_sum_reduce_scatter(SHMEM_TEAM_WORLD, heap, heap + 1, 1);
}
static void sum_long_doubles(void) {
  long double* const wide = (long double*)device;
  shmem_longdouble_sum_reduce(SHMEM_TEAM_WORLD, wide, wide, 1);
}
static void sum_many_long_doubles(void) {
  long double* const wide = (long double*)device;
  shmem_longdouble_sum_reduce(SHMEM_TEAM_WORLD, wide, wide, kMany);
}
static void broadcast_to_set(void) {
  shmem_broadcast64(device, device, 1, 0, 0, 0, shmem_n_pes(), psync);
  shmem_barrier_all();
}
static int next_pe(void) { return (shmem_my_pe() + 1) % shmem_n_pes(); }
static void send_device_memory(void) { shmem_long_put(heap, device, kElems, next_pe()); }
static void send_to_device_memory(void) { shmem_long_put(device, heap, kElems, next_pe()); }
static void get_device_memory(void) { shmem_long_get(heap, device, kElems, next_pe()); }
static void send_on_stream(void) {
  shmemx_putmem_on_stream(heap, device, sizeof *heap, next_pe(), NULL);
  shmemx_quiet_on_stream(NULL);
}
static void get_on_stream(void) {
  shmemx_getmem_on_stream(heap, device, sizeof *heap, next_pe(), NULL);
  shmemx_quiet_on_stream(NULL);
}
static void send_blocks(void) { shmem_long_iput(device, heap, 2, 1, kElems, next_pe()); }
static void get_blocks(void) { shmem_long_iget(heap, device, 1, 2, kElems, next_pe()); }
static void send_large_blocks(void) {
  enum { block = 4096 / sizeof(long) };
  shmem_long_ibput(device, heap, 2 * block, block, block, 2, next_pe());
}
static void signal_after_data_of_host(void) {
  shmemx_putmem_signal_on_stream(device, on_host, sizeof *on_host, signal_word, 1, SHMEM_SIGNAL_SET,
                                 shmem_my_pe(), NULL);
  shmemx_quiet_on_stream(NULL);
}
static void make_late_team(void) {
  enum { kTeams = 4 };
  if (late != SHMEM_TEAM_INVALID) return;
  for (int i = 0; i < kTeams; ++i)
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, shmem_n_pes(), NULL, 0, &late);
}
static void sum_in_late_team(void) {
  make_late_team();
  shmem_long_sum_reduce(late, device, device, kElems);
}
static void scatter_sum_in_late_team(void) {
  make_late_team();
  shmemx_long_sum_reduce_scatter(late, device, device + 1, 1);
}
static void gather_in_late_team(void) {
  make_late_team();
  shmem_long_fcollect(late, device, device + 2, 1);
}

static const struct {
  const char* name;
  void (*take)(void);
} ways[] = {
    {"gather_into_statics", gather_into_statics},
    {"store", store},
    {"wait_for_device", wait_for_device},
    {"sum", sum},
    {"split", split},
    {"sum_many", sum_many},
    {"sum_many_of_device", sum_many_of_device},
    {"sum_on_stream", sum_on_stream},
    {"scatter_sum", scatter_sum},
    {"sum_long_doubles", sum_long_doubles},
    {"sum_many_long_doubles", sum_many_long_doubles},
    {"broadcast_to_set", broadcast_to_set},
    {"send_device_memory", send_device_memory},
    {"send_to_device_memory", send_to_device_memory},
    {"get_device_memory", get_device_memory},
    {"send_on_stream", send_on_stream},
    {"get_on_stream", get_on_stream},
    {"send_blocks", send_blocks},
    {"get_blocks", get_blocks},
    {"send_large_blocks", send_large_blocks},
    {"signal_after_data_of_host", signal_after_data_of_host},
    {"sum_in_late_team", sum_in_late_team},
    {"scatter_sum_in_late_team", scatter_sum_in_late_team},
    {"gather_in_late_team", gather_in_late_team},
};

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    if (strcmp(ways[i].name, argv[1]) != 0) continue;
    shmem_init();
    heap = shmem_calloc(kMany, sizeof *heap);
    device = shmem_malloc_with_hints(kMany * sizeof(long double), SHMEMX_MALLOC_DEVICE);
    signal_word = shmem_malloc_with_hints(sizeof *signal_word, SHMEMX_MALLOC_DEVICE);
    for (int round = 0; round < 3; ++round) {
      ways[i].take();
      shmem_barrier_all();
    }
    shmem_finalize();
    return 0;
  }
  fprintf(stderr, "slow_ways: there is no way %s\n", argv[1]);
  return 2;
}
