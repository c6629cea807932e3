// SPDX-License-Identifier: Apache-2.0
// An OpenSHMEM program that does, or fails to do, what a launch test asks for.
// Invariant: where one PE is to end the job, the others wait for ever in a barrier, so that only
// the launcher can end them. Standard OpenSHMEM only.
// Usage: shmem_program ring | rounds N | finalize_last | outlives_mpi | one_core | memory |
//        libraries | until FILE | global_exit PE CODE | exit PE CODE | die PE SIGNAL | mistake PE |
//        hang PE | wait | work
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <sched.h>
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long from_left;  // symmetric, as it is static

static int put_around_a_ring(void) {
  int me = shmem_my_pe(), pes = shmem_n_pes(), wrong = 0;
  long* on_heap = shmem_malloc(sizeof *on_heap);
  from_left = *on_heap = -1;
  shmem_barrier_all();
  shmem_long_p(&from_left, me, (me + 1) % pes);
  shmem_long_p(on_heap, me, (me + 1) % pes);
  shmem_barrier_all();
  long left = (me + pes - 1) % pes;
  wrong = from_left != left || *on_heap != left;
  shmem_free(on_heap);
  printf("PE %d of %d%s\n", me, pes, wrong ? " is wrong" : "");
  fflush(stdout);
  return wrong;
}

static int run_rounds(int rounds) {
  int wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    shmem_init();
    wrong |= put_around_a_ring();
    shmem_finalize();
  }
  return wrong;
}

// Ready, and in the middle of the job until somebody makes the file.
static int wait_for_file(const char* path) {
  shmem_init();
  shmem_barrier_all();
  printf("ready\n");
  fflush(stdout);
  while (access(path, F_OK) != 0) usleep(10000);
  shmem_barrier_all();
  int wrong = put_around_a_ring();
  shmem_finalize();
  return wrong;
}

static void finalize(void) { shmem_finalize(); }

// As a destructor of a variable does it, after all that the library does at exit.
static int finalize_last(void) {
  atexit(finalize);
  shmem_init();
  return put_around_a_ring();
}

// Says goodbye to a launcher that speaks PMI-1 and closes the connection, as an MPI library does.
// Then a file has the number of the connection.
static int outlive_mpi(void) {
  shmem_init();
  const int connection = atoi(getenv("PMI_FD"));
  char answer[64];
  int wrong = write(connection, "cmd=finalize\n", 13) != 13;
  wrong |= read(connection, answer, sizeof answer) <= 0 || close(connection) != 0;
  wrong |= open("/dev/null", O_RDONLY) != connection;
  sleep(1);
  wrong |= put_around_a_ring();
  shmem_finalize();
  return wrong;
}

static int count_mappings(void) {
  int count = 0, c;
  FILE* maps = fopen("/proc/self/maps", "r");
  while (maps && (c = fgetc(maps)) != EOF) count += c == '\n';
  if (maps) fclose(maps);
  return count;
}

static int print_library(struct dl_phdr_info* info, size_t bytes, void* unused) {
  (void)bytes, (void)unused;
  printf("%s\n", info->dlpi_name);
  return 0;
}

// The shared libraries that a job has loaded by the end of its start.
static int print_libraries(void) {
  shmem_init();
  if (shmem_my_pe() == 0) dl_iterate_phdr(print_library, NULL);
  fflush(stdout);
  shmem_finalize();
  return 0;
}

// The bytes that malloc has given out and not got back, those of page tables, and the mappings.
static int print_memory(void) {
  shmem_init();
  struct mallinfo2 heap = mallinfo2();
  long page_tables_kib = -1;
  char line[256];
  FILE* status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status))
    sscanf(line, "VmPTE: %ld kB", &page_tables_kib);
  if (status) fclose(status);
  printf("%zu %ld %d\n", heap.uordblks + heap.hblkhd, page_tables_kib * 1024, count_mappings());
  fflush(stdout);
  shmem_finalize();
  return page_tables_kib < 0;
}

// Starts again on core 0, with all other PEs, and free to go on another. Prints the cores that it
// may use.
static int start_on_one_core(void) {
  cpu_set_t all, one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  shmem_init();
  sched_getaffinity(0, sizeof all, &all);
  for (int round = 0; round < 20; ++round) {
    shmem_finalize();
    sched_setaffinity(0, sizeof one, &one);
    sched_setaffinity(0, sizeof all, &all);
    shmem_init();
  }
  sched_getaffinity(0, sizeof all, &all);
  printf("may use %d\n", CPU_COUNT(&all));
  fflush(stdout);
  int wrong = put_around_a_ring();
  shmem_finalize();
  return wrong;
}

// Everything that PEs do together, until the launcher or a signal ends them.
static void work_for_ever(void) {
  const int me = shmem_my_pe(), next = (me + 1) % shmem_n_pes();
  static long lock, counter, sum, one = 1;
  for (;;) {
    long* block = shmem_malloc(65536);
    shmem_long_p(block, me, next);
    shmem_putmem(block + 1, block + 1, 32768, next);
    shmem_set_lock(&lock);
    shmem_long_atomic_inc(&counter, 0);
    shmem_clear_lock(&lock);
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &one, 1);
    shmem_barrier_all();
    shmem_long_wait_until(block, SHMEM_CMP_GE, 0);
    shmem_free(block);
  }
}

static void end_job(const char* how, int number) {
  usleep(100000);  // so that the others are in the barrier
  if (strcmp(how, "global_exit") == 0) shmem_global_exit(number);
  if (strcmp(how, "exit") == 0) _exit(number);
  if (strcmp(how, "die") == 0) raise(number);
  if (strcmp(how, "mistake") == 0) shmem_long_p(&from_left, 1, shmem_n_pes());
  sleep(600);  // hang
}

int main(int argc, char** argv) {
  const char* verb = argc > 1 ? argv[1] : "ring";
  if (strcmp(verb, "ring") == 0) return run_rounds(1);
  if (strcmp(verb, "rounds") == 0) return run_rounds(atoi(argv[2]));
  if (strcmp(verb, "finalize_last") == 0) return finalize_last();
  if (strcmp(verb, "outlives_mpi") == 0) return outlive_mpi();
  if (strcmp(verb, "memory") == 0) return print_memory();
  if (strcmp(verb, "libraries") == 0) return print_libraries();
  if (strcmp(verb, "until") == 0) return wait_for_file(argv[2]);
  if (strcmp(verb, "one_core") == 0) return start_on_one_core();
  int who = argc > 2 ? atoi(argv[2]) : 0;
  shmem_init();
  shmem_barrier_all();
  printf("ready\n");
  fflush(stdout);
  if (strcmp(verb, "work") == 0) work_for_ever();
  if (strcmp(verb, "wait") == 0) shmem_long_wait_until(&from_left, SHMEM_CMP_EQ, 1);
  if (shmem_my_pe() == who) end_job(verb, argc > 3 ? atoi(argv[3]) : 0);
  shmem_barrier_all();
  return 8;  // not reached
}
