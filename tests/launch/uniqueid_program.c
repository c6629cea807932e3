// SPDX-License-Identifier: Apache-2.0
// An OpenSHMEM program that starts without a launcher, by a unique id, as a launch test asks for.
// Invariant: where one PE is to end the job, the others wait for ever in a barrier.
// Usage: uniqueid_program ID RANK N VERB
//   ID: 256 digits; "make": makes one, and prints it first; "zero": an id that nobody has made
//   RANK: -1 is no PE; it makes the id and waits for the end of its standard input
//   VERB: ring | twice | wait | fork | global_exit:PE:CODE | after
#define _GNU_SOURCE
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long from_left;  // symmetric, as it is static

static void print_id(const shmemx_uniqueid_t* id) {
  for (size_t i = 0; i < sizeof id->bytes; ++i) printf("%02x", id->bytes[i]);
  printf("\n");
  fflush(stdout);
}

static void read_id(const char* digits, shmemx_uniqueid_t* id) {
  memset(id, 0, sizeof *id);
  if (strcmp(digits, "zero") == 0) return;
  for (size_t i = 0; i < sizeof id->bytes; ++i) {
    const char pair[3] = {digits[2 * i], digits[2 * i + 1], 0};
    id->bytes[i] = (unsigned char)strtoul(pair, NULL, 16);
  }
}

static int put_around_a_ring(void) {
  int me = shmem_my_pe(), pes = shmem_n_pes();
  long* on_heap = shmem_malloc(sizeof *on_heap);
  from_left = *on_heap = -1;
  shmem_barrier_all();
  shmem_long_p(&from_left, me, (me + 1) % pes);
  shmem_long_p(on_heap, me, (me + 1) % pes);
  shmem_barrier_all();
  long left = (me + pes - 1) % pes;
  int wrong = from_left != left || *on_heap != left;
  shmem_free(on_heap);
  printf("PE %d of %d%s\n", me, pes, wrong ? " is wrong" : "");
  fflush(stdout);
  return wrong;
}

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const int rank = atoi(argv[2]), n = atoi(argv[3]);
  const char* verb = argv[4];
  shmemx_uniqueid_t id;
  if (strcmp(argv[1], "make") == 0) {
    if (shmemx_get_uniqueid(&id) != 0) return 3;
    print_id(&id);
  } else {
    read_id(argv[1], &id);
  }
  if (rank == -1) return getchar() == EOF ? 0 : 4;
  if (shmemx_init_attr(SHMEMX_INIT_WITH_UNIQUEID, rank, n, &id) != 0) {
    int is_open = 1;
    shmem_query_initialized(&is_open);
    return is_open ? 10 : 5;
  }
  if (strcmp(verb, "ring") == 0 || strcmp(verb, "twice") == 0) {
    int wrong = put_around_a_ring();
    shmem_finalize();
    if (strcmp(verb, "twice") == 0) {
      shmem_init();
      wrong |= put_around_a_ring();
      shmem_finalize();
      if (shmemx_init_attr(SHMEMX_INIT_WITH_UNIQUEID, rank, n, &id) != 0) return 6;
      wrong |= put_around_a_ring();
      shmem_finalize();
    }
    _exit(wrong);  // as workers of frameworks do: no function of atexit is called
  }
  if (strcmp(verb, "after") == 0) {  // the last PE is alone with the library
    shmem_finalize();
    if (rank != n - 1) _exit(0);
    if (getchar() != EOF) return 7;
    shmem_init();
    return 8;
  }
  if (strcmp(verb, "before") == 0) {  // the last PE waits for the others when they end
    shmem_finalize();
    if (rank != n - 1) {
      usleep(300000);
      _exit(0);
    }
    shmem_init();
    return 8;
  }
  if (strcmp(verb, "fork") == 0 && fork() == 0) {
    sleep(600);
    _exit(0);
  }
  shmem_barrier_all();
  printf("ready\n");
  fflush(stdout);
  int who = -1, status = 0;
  if (sscanf(verb, "global_exit:%d:%d", &who, &status) == 2 && who == rank)
    shmem_global_exit(status);
  if (rank == n - 1) sleep(600);  // to be killed
  shmem_barrier_all();
  return 9;  // not reached
}
