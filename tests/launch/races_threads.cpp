// SPDX-License-Identifier: Apache-2.0
//
// As races_loads, of mistakes between the threads of a PE, and of threads with other PEs; built by
// `oshc++ --races -fopenmp`.
#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <shmem.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

namespace {

int me, n;
bool right;
long x[8], y[8], flag;
volatile long sink;

void get(long* to) {
  shmem_long_get_nbi(to, y, 8, (me + 1) % n);
  shmem_quiet();
}

void load_beside_get() {
  long own[8] = {};
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) get(own);
    if (right) {
#pragma omp barrier
    }
    if (omp_get_thread_num() == 1) sink = own[3];
  }
}
void store_beside_put() {
  long own[8] = {};
#pragma omp parallel for num_threads(2) schedule(static, 1)
  for (int i = 0; i < 2; ++i) {
    if (i == 0) shmem_long_put(x, own, 4, (me + 1) % n);
    if (i == 1) own[right ? 4 : 3] = 5;
  }
  shmem_quiet();
}
void single_without_wait() {
  static long all[8];
#pragma omp parallel num_threads(2)
  {
#pragma omp single nowait
    get(all + 0);
    if (right) {
#pragma omp barrier
    }
    sink = all[0];
  }
}
void sections_of_one() {
  auto* own = static_cast<long*>(calloc(8, sizeof(long)));
  if (right) {
#pragma omp parallel num_threads(2)
    {
#pragma omp sections
      {
#pragma omp section
        get(own);
      }
#pragma omp sections
      {
#pragma omp section
        sink = own[1];
      }
    }
  } else {
#pragma omp parallel sections num_threads(2)
    {
#pragma omp section
      get(own);
#pragma omp section
      sink = own[1];
    }
  }
  free(own);
}
void task_without_wait() {
  long own[8] = {};
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp task shared(own)
    get(own);
    if (right) {
#pragma omp taskwait
    }
    sink = own[2];
  }
}
void load_outside_of_critical() {
  long own[8] = {};
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) {
#pragma omp critical
      get(own);
    } else if (right) {
#pragma omp critical
      sink = own[2];
    } else {
      sink = own[2];
    }
  }
}
// The thread that meets PE 1 does not know of the put.
void sync_of_another_thread() {
  if (me == 0) {
#pragma omp parallel num_threads(2)
    {
      if (omp_get_thread_num() == 0) {
        shmem_long_put(x, y, 8, 1);
        shmem_quiet();
      }
      if (right) {
#pragma omp barrier
      }
      if (omp_get_thread_num() == 1) shmem_sync_all();
    }
  } else {
    shmem_sync_all();
  }
  if (me == 1) sink = x[3];
}
void wait_of_another_thread() {
  if (me == 0) {
    shmem_long_put(x, y, 8, 1);
    shmem_quiet();
    shmem_long_p(&flag, 1, 1);
  } else if (me == 1) {
    std::thread waits([] { shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1); });
    if (right) waits.join();
    sink = x[3];
    if (!right) waits.join();
  }
}
void* get_by_thread(void* own) {
  get(static_cast<long*>(own));
  return nullptr;
}
void load_before_join() {
  static long own[8];
  pthread_t thread;
  pthread_create(&thread, nullptr, get_by_thread, own);
  if (right) pthread_join(thread, nullptr);
  sink = own[5];
  if (!right) pthread_join(thread, nullptr);
}
void load_without_mutex() {
  static long own[8];
  static std::mutex mutex;
  std::thread thread([] {
    const std::lock_guard lock(mutex);
    get(own);
  });
  if (right) mutex.lock();
  sink = own[5];
  if (right) mutex.unlock();
  thread.join();
}
void atomic_flag_before_get() {
  static long own[8];
  static std::atomic<int> is_there;
  is_there = 0;
  std::thread thread([] {
    if (!right) is_there.store(1, std::memory_order_release);
    get(own);
    if (right) is_there.store(1, std::memory_order_release);
  });
  while (is_there.load(std::memory_order_acquire) == 0) {
  }
  sink = own[5];
  thread.join();
}

// No mistakes from here on.
void hands_over() {
  static long own[8];
  std::mutex mutex;
  std::condition_variable changed;
  int turn = 0;
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  std::thread thread([&] {
    for (int i = 0; i < 20; ++i) {
      std::unique_lock lock(mutex);
      while (turn != 1) changed.wait(lock);
      get(own);
      turn = 0;
      changed.notify_all();
    }
    sem_post(&semaphore);
  });
  for (int i = 0; i < 20; ++i) {
    std::unique_lock lock(mutex);
    while (turn != 0) changed.wait(lock);
    own[i % 8] = i;
    turn = 1;
    changed.notify_all();
  }
  sem_wait(&semaphore);
  for (long& value : own) value = 0;
  thread.join();
}
void memory_used_again() {
  const auto work = [] {
    for (int i = 0; i < 200; ++i) {
      auto* own = new long[8]();
      get(own);
      sink = own[i % 8];
      delete[] own;
      long on_stack[8];
      get(on_stack);
      sink = on_stack[i % 8];
    }
  };
  for (int i = 0; i < 10; ++i) {
    std::thread one(work), other(work);
    one.join();
    std::thread third(work);
    other.join();
    third.join();
  }
}
void orders_of_openmp() {
  long own[8] = {}, other[8] = {};
  omp_lock_t lock;
  omp_init_lock(&lock);
#pragma omp parallel for ordered num_threads(3)
  for (int i = 0; i < 9; ++i) {
#pragma omp ordered
    {
      if (i % 2) get(own);
      sink = own[i % 8];
    }
    omp_set_lock(&lock);
    get(other);
    sink = other[i % 8];
    omp_unset_lock(&lock);
  }
  omp_destroy_lock(&lock);
#pragma omp parallel num_threads(3)
#pragma omp single
  {
    for (int i = 0; i < 8; ++i) {
#pragma omp task shared(own) depend(out : own)
      get(own);
#pragma omp task shared(own) depend(in : own)
      sink = own[i];
    }
#pragma omp taskwait
    own[0] = 1;
#pragma omp taskgroup
    {
#pragma omp task shared(other)
      get(other);
    }
    other[0] = 1;
    long all[8][8] = {};
#pragma omp taskloop shared(all) grainsize(1)
    for (int i = 0; i < 8; ++i) get(all[i]);
    sink = all[5][5];
  }
  get(own);
#pragma omp parallel for num_threads(3) reduction(+ : own[0])
  for (int i = 0; i < 8; ++i) own[0] += own[1] + i;
  sink = own[0];
}
// More threads and rounds than there are strands.
void many_threads() {
  static long own[48][8];
  for (int round = 0; round < 3; ++round) {
#pragma omp parallel for num_threads(48) schedule(static, 1)
    for (int i = 0; i < 48; ++i) {
      get(own[i]);
      sink = own[i][3];
      shmem_long_atomic_add(&flag, 1, 0);
    }
    for (auto& one : own) sink = one[1];
  }
}

const struct {
  const char* name;
  void (*run)();
} cases[] = {
#define CASE(name) \
  { #name, name }
    CASE(load_beside_get),        CASE(store_beside_put),       CASE(single_without_wait),
    CASE(sections_of_one),        CASE(task_without_wait),      CASE(load_outside_of_critical),
    CASE(sync_of_another_thread), CASE(wait_of_another_thread), CASE(load_before_join),
    CASE(load_without_mutex),     CASE(atomic_flag_before_get), CASE(hands_over),
    CASE(memory_used_again),      CASE(orders_of_openmp),       CASE(many_threads),
#undef CASE
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  right = argc > 2 && strcmp(argv[2], "right") == 0;
  int provided;
  shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
  me = shmem_my_pe();
  n = shmem_n_pes();
  shmem_barrier_all();
  bool found = false;
  for (const auto& one : cases) {
    if (strcmp(one.name, argv[1]) != 0 && strcmp("all", argv[1]) != 0) continue;
    found = true;
    one.run();
    shmem_barrier_all();
    flag = 0;
    shmem_barrier_all();
  }
  shmem_finalize();
  return found ? 0 : 2;
}
