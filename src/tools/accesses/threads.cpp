// SPDX-License-Identifier: Apache-2.0
//
// Wrappers of the functions that begin, end and order the program's threads: of pthreads, of C++ in
// GCC's library, and of C's locks. Programs are linked with --wrap for each (races.wraps).
// Invariant: each wrapper does what its function does. Threads that begin in another way are not
// reported.
#define _GLIBCXX_THREAD_IMPL  // without it std::thread::_State is private since GCC 13
#include <cxxabi.h>
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>

#include <climits>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "tools/accesses/hooks.hpp"

namespace meshmem::accesses {
namespace {

struct Start {
  void* (*run)(void*);
  void* argument;
};

const void* object_of(pthread_t thread) { return reinterpret_cast<const void*>(thread); }

// The threads that count as parallel until they are joined. Lives for ever: a thread may begin
// while the process ends.
struct Counted {
  std::mutex mutex;
  std::set<pthread_t> threads;
};
Counted& counted = *new Counted;

void count_this_thread() {
  const std::lock_guard lock(counted.mutex);
  counted.threads.insert(pthread_self());
}

// The strand of a thread ends after the destructors of its thread-local variables, in the last
// round of the destructors of pthread keys.
struct ThreadStrand {
  ThreadStrand(const void* begin, const void* frame)
      : strand(begin, object_of(pthread_self()), frame) {}
  Strand strand;
  int rounds = PTHREAD_DESTRUCTOR_ITERATIONS;
};
pthread_key_t key_of_strand();
void end_round(void* at) {
  auto* const strand = static_cast<ThreadStrand*>(at);
  if (--strand->rounds == 0)
    delete strand;
  else
    pthread_setspecific(key_of_strand(), at);
}
pthread_key_t make_key() {
  pthread_key_t key;
  if (pthread_key_create(&key, end_round) != 0) std::abort();
  return key;
}
pthread_key_t key_of_strand() {
  static const pthread_key_t key = make_key();
  return key;
}
void begin_thread(const void* begin, const void* frame) {
  count_this_thread();
  pthread_setspecific(key_of_strand(), new ThreadStrand(begin, frame));
}

void* run_thread(void* at) {
  const std::unique_ptr<Start> start(static_cast<Start*>(at));
  begin_thread(at, __builtin_frame_address(0));
  return start->run(start->argument);
}

// Does nothing without hooks: in a child of fork, which has none, the mutex may stay locked.
void note_join(pthread_t thread) {
  if (!hooks.load(std::memory_order_acquire)) return;
  acquire(object_of(thread));
  const std::lock_guard lock(counted.mutex);
  if (counted.threads.erase(thread) != 0) change_parallel(-1);
}

}  // namespace

void forget_counted_threads() {
  const std::lock_guard lock(counted.mutex);
  counted.threads.clear();
}

}  // namespace meshmem::accesses

using namespace meshmem::accesses;

VISIBLE int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                  void* (*run)(void*), void* argument) {
  if (!hooks.load(std::memory_order_acquire))
    return pthread_create(thread, attributes, run, argument);
  auto start = std::make_unique<Start>(Start{run, argument});
  change_parallel(1);
  release(start.get());
  const int error = pthread_create(thread, attributes, run_thread, start.get());
  if (error == 0)
    (void)start.release();
  else
    change_parallel(-1);
  return error;
}
#define WRAP_JOIN(name, params, args)  \
  VISIBLE int __wrap_##name params {   \
    const int error = name args;       \
    if (error == 0) note_join(thread); \
    return error;                      \
  }
WRAP_JOIN(pthread_join, (pthread_t thread, void** result), (thread, result))
WRAP_JOIN(pthread_tryjoin_np, (pthread_t thread, void** result), (thread, result))
WRAP_JOIN(pthread_timedjoin_np, (pthread_t thread, void** result, const timespec* end),
          (thread, result, end))
WRAP_JOIN(pthread_clockjoin_np,
          (pthread_t thread, void** result, clockid_t clock, const timespec* end),
          (thread, result, clock, end))
#undef WRAP_JOIN

WRAP_ACQUIRE(int, pthread_mutex_lock, (pthread_mutex_t * on), (on), on)
WRAP_ACQUIRE(int, pthread_mutex_trylock, (pthread_mutex_t * on), (on), on)
WRAP_ACQUIRE(int, pthread_mutex_timedlock, (pthread_mutex_t * on, const timespec* end), (on, end),
             on)
WRAP_ACQUIRE(int, pthread_mutex_clocklock,
             (pthread_mutex_t * on, clockid_t clock, const timespec* end), (on, clock, end), on)
WRAP_RELEASE(int, pthread_mutex_unlock, (pthread_mutex_t * on), (on), on)
WRAP_BOTH(int, pthread_cond_wait, (pthread_cond_t * condition, pthread_mutex_t* on),
          (condition, on), on)
WRAP_BOTH(int, pthread_cond_timedwait,
          (pthread_cond_t * condition, pthread_mutex_t* on, const timespec* end),
          (condition, on, end), on)
WRAP_BOTH(int, pthread_cond_clockwait,
          (pthread_cond_t * condition, pthread_mutex_t* on, clockid_t clock, const timespec* end),
          (condition, on, clock, end), on)
WRAP_BOTH(int, pthread_barrier_wait, (pthread_barrier_t * on), (on), on)
WRAP_ACQUIRE(int, pthread_rwlock_rdlock, (pthread_rwlock_t * on), (on), on)
WRAP_ACQUIRE(int, pthread_rwlock_wrlock, (pthread_rwlock_t * on), (on), on)
WRAP_ACQUIRE(int, pthread_rwlock_tryrdlock, (pthread_rwlock_t * on), (on), on)
WRAP_ACQUIRE(int, pthread_rwlock_trywrlock, (pthread_rwlock_t * on), (on), on)
WRAP_RELEASE(int, pthread_rwlock_unlock, (pthread_rwlock_t * on), (on), on)
WRAP_ACQUIRE(int, pthread_spin_lock, (pthread_spinlock_t * on), (on), const_cast<int*>(on))
WRAP_ACQUIRE(int, pthread_spin_trylock, (pthread_spinlock_t * on), (on), const_cast<int*>(on))
WRAP_RELEASE(int, pthread_spin_unlock, (pthread_spinlock_t * on), (on), const_cast<int*>(on))
WRAP_ACQUIRE(int, sem_wait, (sem_t * on), (on), on)
WRAP_ACQUIRE(int, sem_trywait, (sem_t * on), (on), on)
WRAP_ACQUIRE(int, sem_timedwait, (sem_t * on, const timespec* end), (on, end), on)
WRAP_RELEASE(int, sem_post, (sem_t * on), (on), on)
WRAP_ACQUIRE(int, mtx_lock, (mtx_t * on), (on), on)
WRAP_ACQUIRE(int, mtx_trylock, (mtx_t * on), (on), on)
WRAP_ACQUIRE(int, mtx_timedlock, (mtx_t * on, const timespec* end), (on, end), on)
WRAP_RELEASE(int, mtx_unlock, (mtx_t * on), (on), on)
WRAP_BOTH(int, cnd_wait, (cnd_t * condition, mtx_t* on), (condition, on), on)
WRAP_BOTH(int, cnd_timedwait, (cnd_t * condition, mtx_t* on, const timespec* end),
          (condition, on, end), on)

WRAP_ACQUIRE(int, pthread_rwlock_timedrdlock, (pthread_rwlock_t * on, const timespec* end),
             (on, end), on)
WRAP_ACQUIRE(int, pthread_rwlock_timedwrlock, (pthread_rwlock_t * on, const timespec* end),
             (on, end), on)
WRAP_ACQUIRE(int, pthread_rwlock_clockrdlock,
             (pthread_rwlock_t * on, clockid_t clock, const timespec* end), (on, clock, end), on)
WRAP_ACQUIRE(int, pthread_rwlock_clockwrlock,
             (pthread_rwlock_t * on, clockid_t clock, const timespec* end), (on, clock, end), on)
WRAP_ACQUIRE(int, sem_clockwait, (sem_t * on, clockid_t clock, const timespec* end),
             (on, clock, end), on)

// ---- Initializers that run once. They come before the work of threads that call later.

namespace meshmem::accesses {
namespace {

struct Once {
  void (*run)();
  const void* on;
};
thread_local Once once;

void run_once() {
  const Once mine = once;
  mine.run();
  release(mine.on);
}

}  // namespace
}  // namespace meshmem::accesses

#define WRAP_ONCE(R, name, Flag)                     \
  VISIBLE R __wrap_##name(Flag* on, void (*run)()) { \
    once = {run, on};                                \
    const AcquireAfter acquires{on};                 \
    return name(on, run_once);                       \
  }
WRAP_ONCE(int, pthread_once, pthread_once_t)
WRAP_ONCE(void, call_once, once_flag)
#undef WRAP_ONCE
// For static variables within functions.
using abi::__cxa_guard_acquire;
using abi::__cxa_guard_release;
WRAP_ACQUIRE(int, __cxa_guard_acquire, (abi::__guard * guard), (guard), guard)
WRAP_RELEASE(void, __cxa_guard_release, (abi::__guard * guard), (guard), guard)

// ---- Threads of C++, which the C++ library makes and joins

#ifdef __GLIBCXX__
namespace meshmem::accesses {
namespace {

using State = std::thread::_State;

struct ToldState : State {
  explicit ToldState(std::unique_ptr<State> told) : state(std::move(told)) {}
  void _M_run() override {
    begin_thread(this, __builtin_frame_address(0));
    state->_M_run();
    state.reset();
  }
  std::unique_ptr<State> state;
};

}  // namespace
}  // namespace meshmem::accesses

extern "C" {
#define START _ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE
#define JOIN _ZNSt6thread4joinEv
#define WAIT _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE
void START(void* thread, std::unique_ptr<State>* state, void (*depends)());
void JOIN(std::thread* thread);
void WAIT(void* condition, void** lock);
}
#define CAT(a, b) a##b
#define WRAPPED(name) CAT(__wrap_, name)

VISIBLE void WRAPPED(START)(void* thread, std::unique_ptr<State>* state, void (*depends)()) {
  if (!hooks.load(std::memory_order_acquire)) return START(thread, state, depends);
  std::unique_ptr<State> told = std::make_unique<ToldState>(std::move(*state));
  change_parallel(1);
  release(told.get());
  try {
    START(thread, &told, depends);
  } catch (...) {
    change_parallel(-1);
    throw;
  }
}
VISIBLE void WRAPPED(JOIN)(std::thread* thread) {
  const pthread_t id = thread->native_handle();
  JOIN(thread);
  note_join(id);
}
// A lock begins with the address of its mutex.
VISIBLE void WRAPPED(WAIT)(void* condition, void** lock) {
  release(*lock);
  WAIT(condition, lock);
  acquire(*lock);
}
#endif
