// SPDX-License-Identifier: Apache-2.0
//
// A program for tools that look over its shoulder: valgrind, gdb, the sanitizers. Its first
// argument says what it does: `right`, which nobody may report, or one of the mistakes below, which
// PE 0 makes. Run by test_tools.py.
#include <pthread.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kCount = 8 };  // 64 bytes: the next block would begin right behind them

static long global[kCount];
static long signal_word[2];

static void require(int truth, const char* what) {
  if (truth) return;
  fprintf(stderr, "wrong: %s\n", what);
  exit(3);
}

static void fill(long* values, int n) {
  for (int i = 0; i < n; ++i) values[i] = i;
}

static void use_heaps(void) {
  const int me = shmem_my_pe(), right = (me + 1) % shmem_n_pes();
  long* block = shmem_malloc(kCount * sizeof(long));
  long* zeros = shmem_calloc(kCount, sizeof(long));
  long* aligned = shmem_align(4096, 100 * sizeof(long));
  long* on_device = shmem_malloc_with_hints(kCount * sizeof(long), SHMEMX_MALLOC_DEVICE);
  require(block && zeros && aligned && on_device, "no memory");
  for (int i = 0; i < kCount; ++i) require(zeros[i] == 0, "calloc");
  fill(block, kCount);
  fill(aligned, 100);
  fill(on_device, kCount);
  block = shmem_realloc(block, 10000 * sizeof(long));
  require(block && block[kCount - 1] == kCount - 1, "realloc to more");
  fill(block, 10000);
  block = shmem_realloc(block, kCount * sizeof(long));
  shmem_long_put(zeros, block, kCount, right);
  shmem_long_put(on_device, block, kCount, right);
  shmem_long_put(global, block, kCount, right);
  shmem_barrier_all();
  for (int i = 0; i < kCount; ++i)
    require(zeros[i] == i && on_device[i] == i && global[i] == i, "put");
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, block, zeros, kCount);
  require(block[1] == shmem_n_pes(), "sum");
  shmem_long_atomic_inc(&signal_word[0], right);
  shmem_long_wait_until(&signal_word[0], SHMEM_CMP_EQ, 1);
  shmem_barrier_all();
  signal_word[0] = 0;
  block[0] = (long)malloc(100);  // what a symmetric block points to is not lost
  shmem_free(aligned);
  shmem_free(zeros);
  shmem_free(on_device);
  free((void*)block[0]);
  shmem_free(block);
}

static void* count(void* counter) {
  for (int i = 0; i < 100; ++i) shmem_long_atomic_inc(counter, 0);
  return NULL;
}

static void* send(void* data) {
  long* words = data;
  words[0] = 7;
  shmem_long_atomic_set(&words[1], 1, shmem_my_pe());
  return NULL;
}

static void use_threads(void) {
  pthread_t threads[2];
  long* words = shmem_calloc(3, sizeof(long));
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, count, words + 2);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  shmem_barrier_all();
  require(shmem_long_g(words + 2, 0) == 200 * shmem_n_pes(), "count");
  pthread_create(&threads[0], NULL, send, words);
  pthread_join(threads[0], NULL);
  require(words[0] == 7 && words[1] == 1, "message between threads");
  shmem_free(words);
}

static void race(void) {
  pthread_t threads[2];
  long* words = shmem_calloc(3, sizeof(long));
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, send, words);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  shmem_free(words);
}

static void start(void) {
  int provided;
  shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
}

static volatile long sink;

static void make(const char* mistake) {
  long* first = shmem_malloc(kCount * sizeof(long));
  long* second = shmem_malloc(kCount * sizeof(long));
  long* freed = shmem_malloc(1000 * sizeof(long));
  long* kept = shmem_malloc(1000 * sizeof(long));
  shmem_free(freed);
  if (shmem_my_pe() == 0) {
    if (!strcmp(mistake, "after_free")) sink = freed[10];
    if (!strcmp(mistake, "past_end")) first[kCount] = 1;
    if (!strcmp(mistake, "below")) first[-1] = 1;
    if (!strcmp(mistake, "never_allocated")) sink = kept[5000];
    if (!strcmp(mistake, "put_from_freed")) shmem_putmem(kept, freed, 8000, 1);
    if (!strcmp(mistake, "global")) global[kCount + (second == NULL)] = 1;
    if (!strcmp(mistake, "far_pe")) shmem_long_p(kept, 1, 1000);
    if (!strcmp(mistake, "wait")) shmem_long_wait_until(&signal_word[1], SHMEM_CMP_EQ, 1);
  }
  if (!strcmp(mistake, "race")) race();
  shmem_finalize();
  if (!strcmp(mistake, "after_finalize") && first) sink = first[0];
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "right";
  start();
  if (!strcmp(what, "right")) {
    use_heaps();
    shmem_finalize();
    start();
    use_heaps();
    use_threads();
    shmem_finalize();
  } else if (!strcmp(what, "offsets")) {
    char* base = shmem_malloc(1);
    for (int bytes = 1; bytes < 300; bytes += 13) {
      char* block = shmem_malloc((size_t)bytes);
      printf("%d %td\n", shmem_my_pe(), block - base);
    }
    shmem_finalize();
  } else {
    make(what);
  }
  printf("PE ended\n");
  return 0;
}
