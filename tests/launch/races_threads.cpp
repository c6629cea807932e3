// SPDX-License-Identifier: Apache-2.0
//
// As races_loads, of mistakes between the threads of a PE, and of threads with other PEs; built by
// `oshc++ --races -fopenmp`.
#include <alloca.h>
#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <shmem.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

namespace {

int me, n;
bool right;
long x[8], y[8], flag, answer;
volatile long sink;

std::thread of_before;

// Blocks of a pool, of which the C library knows nothing.
constexpr std::size_t kPool = std::size_t{1} << 20, kPage = 4096;
std::atomic<char*> pool = nullptr;
char* begin_of_pool = nullptr;
struct Block {
  long all[8];
};

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

// The thread's wait does not order what PE 0 does between the two values.
void wait_of_an_ended_thread() {
  const auto wait_by_loads = [](long value) {
    while (*static_cast<volatile long*>(&flag) < value) std::this_thread::yield();
  };
  if (me == 0) {
    shmem_long_p(&flag, 1, 1);
    shmem_long_wait_until(&answer, SHMEM_CMP_EQ, 1);
    shmem_long_put(x, y, 8, 1);
    shmem_quiet();
    shmem_long_p(&flag, 2, 1);
  } else if (me == 1) {
    std::thread(wait_by_loads, 1).join();
    shmem_long_p(&answer, 1, 0);
    if (right) std::thread(wait_by_loads, 2).join();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    sink = x[3];
  }
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
// A barrier also waits for tasks.
void barrier_behind_task() {
  long own[8] = {};
#pragma omp parallel num_threads(2)
  {
#pragma omp single
    {
#pragma omp task shared(own)
      get(own);
    }
    sink = own[2];
  }
}
void detached_task() {
  long own[8] = {};
#pragma omp parallel num_threads(2)
#pragma omp single
  {
    omp_event_handle_t event;
#pragma omp task shared(own) detach(event)
    {
      get(own);
      omp_fulfill_event(event);
    }
#pragma omp taskwait
    sink = own[2];
  }
}
void counts_down(std::atomic<int>& left) {
  constexpr int kThreads = 6;
  static long own[kThreads][8];
  left = kThreads;
  std::vector<std::thread> threads;
  for (auto& one : own)
    threads.emplace_back([&one, &left] {
      get(one);
      if (left.fetch_sub(1) != 1) return;
      for (auto& all : own) sink = all[0];
    });
  for (std::thread& thread : threads) thread.join();
}
void count_of_threads() {
  static std::atomic<int> left;
  for (int i = 0; i < 10; ++i) counts_down(left);
}
// The thread that waits knows of each that has counted.
void signals_of_threads() {
  constexpr int kThreads = 6;
  static long own[kThreads][8];
  static long arrived;
  arrived = 0;
  std::vector<std::thread> threads;
  for (auto& one : own)
    threads.emplace_back([&one] {
      get(one);
      shmem_long_atomic_inc(&arrived, me);
    });
  shmem_long_wait_until(&arrived, SHMEM_CMP_EQ, kThreads);
  for (auto& one : own) sink = one[0];
  for (std::thread& thread : threads) thread.join();
}
void memory_of_a_pool() {
  auto* page = static_cast<char*>(
      mmap(nullptr, kPool, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(page, kPage, PROT_NONE);
  begin_of_pool = page;
  pool = page + kPage;
  std::thread thread([] {
    for (int i = 0; i < 20; ++i) {
      auto* one = new Block;
      get(one->all);
      sink = one->all[1];
      delete one;
      auto* all = new Block[3];
      get(all[1].all);
      delete[] all;
    }
  });
  thread.join();
  pool = nullptr;
}
// The next thread gets a thread's variables, and its stack of any size. The destructors of these
// variables are work of the thread.
struct Last {
  ~Last() {
    get(all);
    sink = all[1];
    if (to) get(to);
  }
  long all[8] = {};
  long* to = nullptr;
};
void* work_below(void*) {
  thread_local Last last;
  constexpr std::size_t kBelow = std::size_t{12} << 20;
  auto* low = static_cast<long*>(alloca(kBelow));
  for (int i = 0; i < 8; ++i) low[i] = last.all[i];
  get(low);
  get(last.all);
  sink = low[1] + last.all[1];
  return nullptr;
}
void memory_of_ended_threads() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, std::size_t{32} << 20);
  for (int i = 0; i < 10; ++i) {
    pthread_t one, other;
    pthread_create(&one, &attributes, work_below, nullptr);
    pthread_create(&other, &attributes, work_below, nullptr);
    pthread_join(one, nullptr);
    pthread_t third;
    pthread_create(&third, &attributes, work_below, nullptr);
    pthread_join(other, nullptr);
    pthread_join(third, nullptr);
  }
  pthread_attr_destroy(&attributes);
}
void destructors_of_threads() {
  std::thread thread([] {
    static long own[8];
    std::thread other([] {
      thread_local Last last;
      last.to = own;
    });
    other.join();
    sink = own[1];
  });
  thread.join();
}
void rarer_waits() {
  static long own[8], other[8];
  long of_loop[8] = {};
  const auto first = static_cast<std::size_t>(n);
#pragma omp parallel for ordered(1) num_threads(3) schedule(static, 1)
  for (std::size_t i = first; i < first + 9; ++i) {
#pragma omp ordered depend(sink : i - 1)
    get(of_loop);
    sink = of_loop[i % 8];
#pragma omp ordered depend(source)
  }
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += 60;
  const auto work = [&] {
    pthread_rwlock_timedwrlock(&lock, &end);
    get(own);
    pthread_rwlock_unlock(&lock);
    pthread_rwlock_clockwrlock(&lock, CLOCK_REALTIME, &end);
    sink = own[1];
    pthread_rwlock_unlock(&lock);
  };
  std::thread one(work), two(work);
  std::thread posts([&] {
    get(other);
    sem_post(&semaphore);
  });
  sem_clockwait(&semaphore, CLOCK_REALTIME, &end);
  sink = other[1];
  for (std::thread* thread : {&one, &two, &posts}) thread->join();
  pthread_t joined;
  pthread_create(&joined, nullptr, get_by_thread, own);
  pthread_timedjoin_np(joined, nullptr, &end);
  sink = own[2];
  pthread_create(&joined, nullptr, get_by_thread, own);
  while (pthread_tryjoin_np(joined, nullptr) != 0) {
  }
  sink = own[2];
}
// Children of fork, which have none of the threads, use what those do.
void child_of_threads() {
  std::atomic<bool> ends = false;
  std::mutex mutex;
  std::thread thread([&] {
    while (!ends) {
      pthread_spinlock_t lock;
      pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
      pthread_spin_lock(&lock);
      pthread_spin_unlock(&lock);
    }
  });
  for (int i = 0; i < 40; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const std::lock_guard lock(mutex);
      auto* own = static_cast<volatile long*>(malloc(80));
      own[1] = i;
      std::thread([] {}).join();
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  }
  ends = true;
  thread.join();
}
// Orders nothing.
void await_value(sem_t* semaphore) {
  for (int value = 0; value == 0;) sem_getvalue(semaphore, &value);
}
// The thread that began before shmem_init ends while another one runs.
void thread_of_before() {
  static long own[8];
  sem_t has_got, go, done;
  for (sem_t* semaphore : {&has_got, &go, &done}) sem_init(semaphore, 0, 0);
  std::thread thread([&] {
    get(own);
    sem_post(&has_got);
    sem_wait(&go);
    sem_post(&done);
  });
  await_value(&has_got);
  of_before.join();
  sem_post(&go);
  await_value(&done);
  std::thread other([] {});
  sem_wait(&done);
  sink = own[5];
  other.join();
  thread.join();
}
pthread_once_t once = PTHREAD_ONCE_INIT;
once_flag flag_of_c = ONCE_FLAG_INIT;
long of_once[2][8];
struct Filled {
  Filled() { get(all); }
  long all[8];
};
void initialized_once() {
  static long of_cpp[8];
  static std::once_flag flag_of_cpp;
  const auto work = [] {
    pthread_once(&once, [] { get(of_once[0]); });
    call_once(&flag_of_c, [] { get(of_once[1]); });
    std::call_once(flag_of_cpp, [] { get(of_cpp); });
    static const Filled filled;
    sink = of_once[0][1] + of_once[1][1] + of_cpp[1] + filled.all[1];
  };
  std::thread one(work), other(work);
  one.join();
  other.join();
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
    CASE(load_beside_get),
    CASE(store_beside_put),
    CASE(single_without_wait),
    CASE(sections_of_one),
    CASE(task_without_wait),
    CASE(load_outside_of_critical),
    CASE(sync_of_another_thread),
    CASE(wait_of_another_thread),
    CASE(load_before_join),
    CASE(load_without_mutex),
    CASE(atomic_flag_before_get),
    CASE(wait_of_an_ended_thread),
    CASE(hands_over),
    CASE(memory_used_again),
    CASE(orders_of_openmp),
    CASE(many_threads),
    CASE(barrier_behind_task),
    CASE(detached_task),
    CASE(count_of_threads),
    CASE(signals_of_threads),
    CASE(memory_of_a_pool),
    CASE(child_of_threads),
    CASE(thread_of_before),
    CASE(initialized_once),
    CASE(memory_of_ended_threads),
    CASE(destructors_of_threads),
    CASE(rarer_waits),
#undef CASE
};

}  // namespace

void* operator new(std::size_t bytes) {
  if (!pool) return malloc(bytes);
  return pool.fetch_add(static_cast<std::ptrdiff_t>((bytes + 15) / 16 * 16));
}
void operator delete(void* block) noexcept {
  const auto* at = static_cast<char*>(block);
  if (!begin_of_pool || at < begin_of_pool || begin_of_pool + kPool <= at) free(block);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  right = argc > 2 && strcmp(argv[2], "right") == 0;
  of_before = std::thread([] {});
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
    flag = answer = 0;
    shmem_barrier_all();
  }
  if (of_before.joinable()) of_before.join();
  shmem_finalize();
  return found ? 0 : 2;
}
