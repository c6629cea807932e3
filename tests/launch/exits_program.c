// SPDX-License-Identifier: Apache-2.0
// An OpenSHMEM program whose processes begin or end in an odd way, or have children.
// Invariant: a PE prints the right words only if its job went on undisturbed. Usage: exits_program
// exec_fails | child_mistake | child_global_exit | child_init |
//        child_init_thread | mistake | reads | leaves | returns WHO | streams_last | cannot_start |
//        descriptors FOLDER | bad_address | full_stack | full_stack_of_thread | behind_heap |
//        bad_handler | mistake_in_handler
#include <pthread.h>
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void finalize(void) { shmem_finalize(); }

// The life of a child of fork that is to become another program.
static void be_a_child(const char* how) {
  static long word;
  int level;
  if (strcmp(how, "child_mistake") == 0) shmem_long_p(&word, 1, shmem_n_pes());
  if (strcmp(how, "child_global_exit") == 0) shmem_global_exit(7);
  if (strcmp(how, "child_init") == 0) shmem_init();
  if (strcmp(how, "child_init_thread") == 0) _exit(shmem_init_thread(SHMEM_THREAD_SINGLE, &level));
  execl("/nonexistent/program", "program", (char*)NULL);
  exit(7);  // with what is registered by atexit
}

// The heap is what it was, and a barrier waits for all PEs.
static int outlive_a_child(const char* how) {
  static long late;
  shmem_init();
  atexit(finalize);
  const int me = shmem_my_pe(), n = shmem_n_pes();
  long* heap = shmem_malloc(1 << 20);
  heap[1000] = me + 42;
  shmem_barrier_all();
  const pid_t child = fork();
  if (child == 0) be_a_child(how);
  int status = 0;
  waitpid(child, &status, 0);
  if (me == n - 1) usleep(200000);
  late = 1;
  shmem_barrier_all();
  printf("heap %ld, last PE %ld, child %d\n", heap[1000] - me, shmem_long_g(&late, n - 1),
         WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  fflush(stdout);
  return 0;
}

static void* read_a_line(void* file) {
  char line[80];
  return fgets(line, sizeof line, file);
}

// Starts a thread that waits for a line that does not come.
static void start_reader(void) {
  int ends[2];
  pthread_t reader;
  if (pipe(ends) != 0 || pthread_create(&reader, NULL, read_a_line, fdopen(ends[0], "r")) != 0)
    shmem_global_exit(6);
  usleep(100000);  // so that it reads
}

// PE 0 ends the job while another thread of it reads.
static int end_while_reading(void) {
  shmem_init();
  if (shmem_my_pe() == 0) {
    start_reader();
    printf("kept in a buffer");
    shmem_global_exit(7);
  }
  shmem_barrier_all();
  return 8;  // not reached
}

static int make_a_mistake(void) {
  static long word;
  shmem_init();
  printf("kept in a buffer\n");
  shmem_long_p(&word, 1, shmem_n_pes());
  return 8;  // not reached
}

// PE 0 ends at once, without exit's handlers; the others take their time.
static int leave_after_finalize(void) {
  shmem_init();
  const int me = shmem_my_pe();
  shmem_finalize();
  if (me == 0) _exit(0);
  usleep(400000);
  printf("PE %d\n", me);
  return 0;
}

// main returns, or _exit is called, without shmem_finalize; of the others `who` leaves out, each
// waits for that PE.
static int return_unfinished(const char* who) {
  shmem_init();
  const int me = shmem_my_pe(), last = shmem_n_pes() - 1;
  shmem_barrier_all();
  if (strcmp(who, "nested") == 0) shmem_init();
  if (strcmp(who, "nested") == 0) shmem_finalize();
  if (strcmp(who, "first") == 0 && me != 0) shmem_barrier_all();
  if (strcmp(who, "last") == 0 && me != last) shmem_finalize();
  if (strcmp(who, "late") == 0 && me == last) usleep(500000);
  if (strcmp(who, "reading") == 0) start_reader();
  if (strcmp(who, "at_once") == 0) _exit(0);
  printf("PE %d\n", me);  // kept in a buffer
  return 0;
}

static long* from_left;

static void finalize_with_streams(void) {
  const int me = shmem_my_pe(), n = shmem_n_pes();
  shmemx_long_p_on_stream(from_left, 42, (me + 1) % n, NULL);
  shmem_long_wait_until(from_left, SHMEM_CMP_GE, 42);
  printf("PE %d\n", me);
  fflush(stdout);
  shmemx_long_p_on_stream(from_left, 43, (me + 1) % n, NULL);
  shmem_finalize();
}

// As a destructor of a global variable does it, after all that the start has registered.
static int use_streams_last(void) {
  atexit(finalize_with_streams);
  shmem_init();
  from_left = shmem_calloc(1, sizeof *from_left);
  return 0;
}

// A program that may do without, and asks twice. 0 if it was told the same both times.
static int ask_for_a_start(void) {
  for (int i = 0; i < 2; ++i) {
    int initialized = -1, provided = -1;
    const int refused = shmem_init_thread(SHMEM_THREAD_SINGLE, &provided);
    shmem_query_initialized(&initialized);
    printf("refused %d, initialized %d\n", refused != 0, initialized);
    fflush(stdout);
    if (!refused) shmem_global_exit(9);
  }
  return 0;
}

// Where 0, 1 and 2 lead, in a file of each PE.
static int name_descriptors(const char* folder) {
  char path[512], target[256];
  shmem_init();
  snprintf(path, sizeof path, "%s/%d", folder, shmem_my_pe());
  FILE* file = fopen(path, "w");
  for (int fd = 0; file && fd < 3; ++fd) {
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(path, target, sizeof target);
    fprintf(file, "%.*s\n", length < 0 ? 0 : (int)length, target);
  }
  if (file) fclose(file);
  shmem_finalize();
  return 0;
}

static volatile sig_atomic_t told;
static long* volatile nothing = (long*)16;
__attribute__((noinline)) static int recurse(int depth) {
  volatile char room[4096];
  room[0] = (char)depth;
  return depth < 0 ? 0 : recurse(depth + 1) + room[0];
}
__attribute__((noinline)) static int use_bad_memory(const char* how) {
  if (strcmp(how, "full_stack") == 0) return recurse(0);
  if (strcmp(how, "behind_heap") == 0)
    for (volatile const char* at = shmem_malloc(64);; at += 4096) told += *at;
  *nothing = 1;
  return 0;
}

static void* fill_stack(void* unused) {
  shmem_quiet();  // the library learns of this thread
  told = recurse(0);
  return unused;
}
static int fill_stack_of_thread(void) {
  pthread_t thread;
  int provided;
  shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
  pthread_create(&thread, NULL, fill_stack, NULL);
  return pthread_join(thread, NULL);
}

static void use_bad_memory_in_handler(int number) {
  *nothing = 1;
  told = number;
}
static void make_a_mistake_in_handler(int number) {
  shmem_long_p(nothing, 1, shmem_n_pes());
  told = number;
}
__attribute__((noinline)) static int be_interrupted(const char* how) {
  signal(SIGUSR1,
         strcmp(how, "bad_handler") == 0 ? use_bad_memory_in_handler : make_a_mistake_in_handler);
  raise(SIGUSR1);
  return told;
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  if (strcmp(how, "reads") == 0) return end_while_reading();
  if (strcmp(how, "mistake") == 0) return make_a_mistake();
  if (strcmp(how, "leaves") == 0) return leave_after_finalize();
  if (strcmp(how, "returns") == 0 && argc > 2) return return_unfinished(argv[2]);
  if (strcmp(how, "streams_last") == 0) return use_streams_last();
  if (strcmp(how, "cannot_start") == 0) return ask_for_a_start();
  if (strcmp(how, "descriptors") == 0 && argc > 2) return name_descriptors(argv[2]);
  if (strcmp(how, "bad_address") == 0 || strcmp(how, "full_stack") == 0 ||
      strcmp(how, "behind_heap") == 0) {
    shmem_init();
    volatile const int status = use_bad_memory(how);  // keeps this frame on the stack
    return status;
  }
  if (strcmp(how, "full_stack_of_thread") == 0) return fill_stack_of_thread();
  if (strcmp(how, "bad_handler") == 0 || strcmp(how, "mistake_in_handler") == 0) {
    shmem_init();
    return be_interrupted(how) == 0;
  }
  return outlive_a_child(how);
}
