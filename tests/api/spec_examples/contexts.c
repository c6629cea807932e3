/* SPDX-License-Identifier: Apache-2.0
 *
 * Contexts: for threads that share work, for a library's threads, to overlap the stages of a
 * reduction, and in a session that says what is to come. */
#include <pthread.h>
#include <shmem.h>
#include <stddef.h>
#include <stdint.h>

#include "examples.h"

enum { kThreads = 3, kTasks = 200 };

static void in_threads(void* (*work)(void*), void* arguments, size_t argument_bytes) {
  pthread_t threads[kThreads];
  for (int t = 0; t < kThreads; ++t)
    pthread_create(&threads[t], NULL, work, (char*)arguments + (size_t)t * argument_bytes);
  for (int t = 0; t < kThreads; ++t) pthread_join(threads[t], NULL);
}

static long next_task; /* of this PE: whoever draws a number does that task */

/* Does the tasks of this PE, then helps the others. */
static void* do_tasks(void* argument) {
  long* done = argument;
  shmem_ctx_t ctx;
  if (shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) != 0) return NULL;
  for (int i = 0; i < shmem_n_pes(); ++i) {
    const int owner = (shmem_my_pe() + i) % shmem_n_pes();
    while (shmem_atomic_fetch_inc(ctx, &next_task, owner) < kTasks) ++*done;
  }
  shmem_ctx_destroy(ctx);
  return NULL;
}

static int share_tasks(void) {
  static long mine, all;
  long done[kThreads] = {0};
  next_task = mine = 0;
  shmem_barrier_all();
  in_threads(do_tasks, done, sizeof done[0]);
  for (int t = 0; t < kThreads; ++t) mine += done[t];
  shmem_sum_reduce(SHMEM_TEAM_WORLD, &all, &mine, 1);
  return all != (long)kTasks * shmem_n_pes();
}

/* A library that gives each thread a context, at worst the default one. */
static _Thread_local shmem_ctx_t own_ctx = SHMEM_CTX_INVALID;

static void register_thread(void) {
  if (own_ctx != SHMEM_CTX_INVALID) return;
  if (shmem_ctx_create(SHMEM_CTX_PRIVATE, &own_ctx) != 0 && shmem_ctx_create(0, &own_ctx) != 0)
    own_ctx = SHMEM_CTX_DEFAULT;
}
static void unregister_thread(void) {
  if (own_ctx != SHMEM_CTX_DEFAULT) shmem_ctx_destroy(own_ctx);
  own_ctx = SHMEM_CTX_INVALID;
}

static int letters[kThreads][64];

static void* send_letter(void* argument) {
  const int t = *(int*)argument;
  int letter[64];
  for (int i = 0; i < 64; ++i) letter[i] = 10000 * t + 100 * shmem_my_pe() + i;
  register_thread();
  shmem_ctx_putmem(own_ctx, letters[t], letter, sizeof letter, (shmem_my_pe() + 1) % shmem_n_pes());
  unregister_thread(); /* completes the put */
  return NULL;
}

static int threads_of_a_library(void) {
  int numbers[kThreads];
  for (int t = 0; t < kThreads; ++t) numbers[t] = t;
  shmem_barrier_all();
  in_threads(send_letter, numbers, sizeof numbers[0]);
  shmem_barrier_all();
  const int from = (shmem_my_pe() + shmem_n_pes() - 1) % shmem_n_pes();
  int wrong = 0;
  for (int t = 0; t < kThreads; ++t)
    for (int i = 0; i < 64; ++i) wrong += letters[t][i] != 10000 * t + 100 * from + i;
  return wrong;
}

/* A sum over all PEs in stages: while one stage is added up, the puts of the next are under way in
 * the other context. */
static int pipelined_sum(void) {
  enum { kStage = 128, kStages = 9 };
  static int input[kStages * kStage];
  const int me = shmem_my_pe(), n = shmem_n_pes();
  int* inbox[2];
  shmem_ctx_t ctx[2];
  int wrong = 0;
  for (int k = 0; k < 2; ++k) {
    inbox[k] = shmem_malloc((size_t)(n * kStage) * sizeof(int));
    wrong += shmem_ctx_create(0, &ctx[k]) != 0;
  }
  for (int i = 0; i < kStages * kStage; ++i) input[i] = me + i;
  shmem_barrier_all();
  for (int stage = 0; stage <= kStages; ++stage) {
    for (int pe = 0; pe < n && stage < kStages; ++pe)
      shmem_put_nbi(ctx[stage % 2], &inbox[stage % 2][me * kStage], &input[stage * kStage], kStage,
                    pe);
    if (stage == 0) continue;
    const int before = (stage - 1) % 2;
    shmem_ctx_quiet(ctx[before]);
    shmem_sync_all();
    for (int i = 0; i < kStage; ++i) {
      int sum = 0;
      for (int pe = 0; pe < n; ++pe) sum += inbox[before][pe * kStage + i];
      wrong += sum != n * ((stage - 1) * kStage + i) + n * (n - 1) / 2;
    }
    shmem_sync_all(); /* the inbox may be filled again */
  }
  for (int k = 0; k < 2; ++k) {
    shmem_ctx_destroy(ctx[k]);
    shmem_free(inbox[k]);
  }
  return wrong;
}

/* Each PE changes words at random places of a table that is spread over all PEs; the same numbers
 * drawn again say what must have become of the part here. */
enum { kTable = 64, kUpdates = 200 };

struct Update {
  int pe;
  size_t index;
  uint64_t bits;
};

static struct Update draw(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  const uint64_t bits = *state ^ *state << 31;
  const struct Update update = {(int)((*state >> 33) % (uint64_t)shmem_n_pes()),
                                (size_t)((*state >> 50) % kTable), bits};
  return update;
}

static int session_of_updates(void) {
  static uint64_t table[kTable];
  uint64_t expected[kTable] = {0}, mine = (uint64_t)shmem_my_pe();
  const shmem_ctx_session_config_t config = {.total_ops = kUpdates};
  shmem_ctx_t ctx;
  int wrong = shmem_ctx_create(0, &ctx) != 0;
  for (int i = 0; i < kTable; ++i) table[i] = 0;
  shmem_barrier_all();
  shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, &config, SHMEM_CTX_SESSION_TOTAL_OPS);
  for (int i = 0; i < kUpdates; ++i) {
    const struct Update update = draw(&mine);
    shmem_atomic_xor(ctx, &table[update.index], update.bits, update.pe);
  }
  shmem_ctx_session_stop(ctx);
  shmem_ctx_quiet(ctx); /* the end of a session completes nothing, */
  shmem_sync_all();     /* and waits for nobody */
  for (int pe = 0; pe < shmem_n_pes(); ++pe) {
    uint64_t theirs = (uint64_t)pe;
    for (int i = 0; i < kUpdates; ++i) {
      const struct Update update = draw(&theirs);
      if (update.pe == shmem_my_pe()) expected[update.index] ^= update.bits;
    }
  }
  for (int i = 0; i < kTable; ++i) wrong += table[i] != expected[i];
  shmem_ctx_destroy(ctx);
  return wrong;
}

const struct SpecExample context_examples[] = {{"share_tasks", share_tasks},
                                               {"threads_of_a_library", threads_of_a_library},
                                               {"pipelined_sum", pipelined_sum},
                                               {"session_of_updates", session_of_updates},
                                               {0, 0}};
