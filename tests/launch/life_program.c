// SPDX-License-Identifier: Apache-2.0
// The life of an OpenSHMEM program: does what the words of its command line say, in turn.
// Invariant: all PEs do the same, except that the words behind @N are those of PE N alone. A wrong
// value ends the PE with status 99.
// Usage: life_program WORD... (see `words` below)
#include <pthread.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kWords = 8, kTeams = 3 };

static int me, n = 1, uses, step;
static long flag, counter, lock, from_left[kWords], source[kWords];
static long expected_left = -1;  // of what is under way when the library closes
static shmem_team_t teams[kTeams];

static void check(int right, const char* what) {
  if (right) return;
  fprintf(stderr, "PE %d, word %d: wrong %s\n", me, step, what);
  _exit(99);
}

static void on_a_thread(void (*call)(void)) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, (void* (*)(void*))call, NULL) != 0) _exit(98);
  pthread_join(thread, NULL);
}

static int right_pe(void) { return (me + 1) % n; }

static void note_start(void) {
  ++uses;
  me = shmem_my_pe();
  n = shmem_n_pes();
}

static void init(void) {
  shmem_init();
  note_start();
}
static void init_thread(void) {
  int provided = -1;
  check(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0, "start");
  check(provided == SHMEM_THREAD_MULTIPLE, "thread level");
  note_start();
}
static void thread_inits(void) { on_a_thread(init); }

static void finalize(void) {
  shmem_finalize();
  if (--uses > 0 || expected_left < 0) return;
  for (int i = 0; i < kWords; ++i) check(from_left[i] == expected_left + i, "words of a put");
  expected_left = -1;
}
static void thread_finalizes(void) { on_a_thread(finalize); }
static void finalize_all(void) {
  while (uses > 0) finalize();
}
static void finalize_at_exit(void) { atexit(finalize_all); }

// After all that the library has registered for the end.
static int finalizes_last;
static void be_last(void) {
  if (finalizes_last) finalize_all();
}
static void finalize_last(void) { finalizes_last = 1; }

static void ask(void) {
  int initialized = -1;
  shmem_query_initialized(&initialized);
  check(initialized == (uses > 0), "answer of shmem_query_initialized");
}

static void ring(void) {
  shmem_barrier_all();
  shmem_long_p(&flag, 100 * step + me, right_pe());
  shmem_barrier_all();
  check(flag == 100 * step + (me + n - 1) % n, "word of a put");
}

static void heap(void) {
  unsigned char* block = shmem_calloc(1000 + 10 * (size_t)step, 1);
  check(block != NULL && block[999] == 0, "memory of shmem_calloc");
  memset(block, step, 1000);
  block = shmem_realloc(block, 5000);
  check(block != NULL && block[999] == (unsigned char)step, "memory of shmem_realloc");
  if (step % 3 != 0) shmem_free(block);
}
static void thread_heap(void) { on_a_thread(heap); }

// The last finalize ends teams and contexts that a program leaves.
static void split(void) {
  const shmem_team_config_t config = {.num_contexts = 2};
  static long one = 1, members;
  shmem_team_t team;
  shmem_ctx_t context;
  check(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1 + n / 2, &config,
                                 SHMEM_TEAM_NUM_CONTEXTS, &team) == 0,
        "split");
  if (teams[step % kTeams] != SHMEM_TEAM_INVALID) shmem_team_destroy(teams[step % kTeams]);
  teams[step % kTeams] = team;
  if (team == SHMEM_TEAM_INVALID) return;
  shmem_long_sum_reduce(team, &members, &one, 1);
  check(members == 1 + n / 2, "sum of a team");
  check(shmem_team_create_ctx(team, 0, &context) == 0, "context");
  shmem_ctx_long_atomic_inc(context, &counter, 0);
  if (step % 2 != 0) shmem_ctx_destroy(context);
}
static void destroy_teams(void) {
  for (int i = 0; i < kTeams; ++i) {
    if (teams[i] != SHMEM_TEAM_INVALID) shmem_team_destroy(teams[i]);
    teams[i] = SHMEM_TEAM_INVALID;
  }
}

static void leave_a_put(void) {
  shmem_barrier_all();
  expected_left = 1000 * step;
  for (int i = 0; i < kWords; ++i) source[i] = expected_left + i;
  shmem_long_put_nbi(from_left, source, kWords, right_pe());
}

static void hold_a_lock(void) {
  shmem_barrier_all();
  if (me == 0) lock = 0;
  shmem_barrier_all();
  if (me == 0) shmem_set_lock(&lock);
  shmem_barrier_all();
  if (me != 0) check(shmem_test_lock(&lock) == 1, "lock");
}

static void await_flag(void) { shmem_long_wait_until(&counter, SHMEM_CMP_EQ, -step); }
static void thread_waits(void) {
  pthread_t thread;
  shmem_barrier_all();
  if (pthread_create(&thread, NULL, (void* (*)(void*))await_flag, NULL) != 0) _exit(98);
  shmem_long_atomic_set(&counter, -step, right_pe());
  shmem_quiet();
  pthread_join(thread, NULL);
}

static void await_child(pid_t child) {
  int status = -1;
  waitpid(child, &status, 0);
  check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "end of a child");
}
static void fork_exit(void) {
  const pid_t child = fork();
  if (child == 0) exit(0);
  await_child(child);
}
static void fork_finalize(void) {
  const pid_t child = fork();
  if (child == 0) {
    shmem_finalize();
    _exit(0);
  }
  await_child(child);
}

// Under way when the program goes on.
static void streams(void) {
  long* word = shmem_calloc(2, sizeof *word);
  shmemx_long_p_on_stream(word, step, right_pe(), NULL);
  shmemx_barrier_all_on_stream(NULL);
  shmemx_long_p_on_stream(word + 1, step, right_pe(), NULL);
}

static void say(void) {
  printf("PE %d\n", me);
  fflush(stdout);
}

static void one_late(void) {
  if (me == step % n) usleep(3000);
}
static void barrier(void) { shmem_barrier_all(); }
static void exit_3(void) { exit(3); }
static void exit_at_once(void) { _exit(0); }
static void global_exit_5(void) { shmem_global_exit(5); }
static void thread_global_exit_5(void) { on_a_thread(global_exit_5); }

static const struct {
  const char* name;
  void (*call)(void);
} words[] = {{"init", init},
             {"init_thread", init_thread},
             {"thread_inits", thread_inits},
             {"finalize", finalize},
             {"thread_finalizes", thread_finalizes},
             {"finalize_of_nothing", shmem_finalize},
             {"finalize_at_exit", finalize_at_exit},
             {"finalize_last", finalize_last},
             {"ask", ask},
             {"ring", ring},
             {"heap", heap},
             {"thread_heap", thread_heap},
             {"split", split},
             {"destroy_teams", destroy_teams},
             {"leave_a_put", leave_a_put},
             {"hold_a_lock", hold_a_lock},
             {"thread_waits", thread_waits},
             {"fork_exit", fork_exit},
             {"fork_finalize", fork_finalize},
             {"streams", streams},
             {"say", say},
             {"one_late", one_late},
             {"barrier", barrier},
             {"exit_3", exit_3},
             {"exit_at_once", exit_at_once},
             {"global_exit_5", global_exit_5},
             {"thread_global_exit_5", thread_global_exit_5}};

static void do_word(const char* name) {
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
    if (strcmp(words[i].name, name) != 0) continue;
    words[i].call();
    if (uses == 0)
      for (int team = 0; team < kTeams; ++team) teams[team] = SHMEM_TEAM_INVALID;
    return;
  }
  fprintf(stderr, "%s is no word\n", name);
  exit(2);
}

int main(int argc, char** argv) {
  int who = -1;
  atexit(be_last);
  for (int i = 0; i < kTeams; ++i) teams[i] = SHMEM_TEAM_INVALID;
  for (step = 1; step < argc; ++step) {
    if (argv[step][0] == '@')
      who = atoi(argv[step] + 1);
    else if (who < 0 || who == me)
      do_word(argv[step]);
  }
  return 0;
}
