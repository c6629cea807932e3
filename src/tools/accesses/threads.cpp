// SPDX-License-Identifier: Apache-2.0
//
// The functions that begin, end and order the program's threads: pthreads, those of C++ by GCC's
// library, and locks of C. Programs are linked with --wrap for each (races.wraps).
// Invariant: each does what the function does. A thread that begins in another way is not told of.
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>

#include <cstdlib>
#include <memory>
#include <new>
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

void* run_thread(void* at) {
  const std::unique_ptr<Start> start(static_cast<Start*>(at));
  const Strand strand(at, object_of(pthread_self()), __builtin_frame_address(0));
  return start->run(start->argument);
}

void note_join(pthread_t thread) {
  acquire(object_of(thread));
  change_parallel(-1);
}

void forget_block(void* block) {
  if (block) call_hook(&AccessHooks::forget, block, malloc_usable_size(block));
}

}  // namespace
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
VISIBLE int __wrap_pthread_join(pthread_t thread, void** result) {
  const int error = pthread_join(thread, result);
  if (error == 0) note_join(thread);
  return error;
}

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
WRAP_BOTH(int, pthread_once, (pthread_once_t * on, void (*run)()), (on, run), on)
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

VISIBLE void __wrap_free(void* block) {
  forget_block(block);
  free(block);
}
VISIBLE void* __wrap_realloc(void* block, std::size_t bytes) {
  forget_block(block);
  return realloc(block, bytes);
}
#define WRAP_DELETE(symbol, params, ...) \
  VISIBLE void __wrap_##symbol params {  \
    forget_block(block);                 \
    ::operator delete __VA_ARGS__;       \
  }
WRAP_DELETE(_ZdlPv, (void* block), (block))
WRAP_DELETE(_ZdlPvm, (void* block, std::size_t), (block))
WRAP_DELETE(_ZdaPv, (void* block), [](block))
WRAP_DELETE(_ZdaPvm, (void* block, std::size_t), [](block))
#undef WRAP_DELETE

// ---- Threads of C++, which the library makes and joins

#ifdef __GLIBCXX__
namespace meshmem::accesses {
namespace {

using State = std::thread::_State;

struct ToldState : State {
  explicit ToldState(std::unique_ptr<State> told) : state(std::move(told)) {}
  void _M_run() override {
    const Strand strand(this, object_of(pthread_self()), __builtin_frame_address(0));
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
  START(thread, &told, depends);
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
