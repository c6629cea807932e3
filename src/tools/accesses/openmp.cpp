// SPDX-License-Identifier: Apache-2.0
//
// Wrappers of libgomp's functions, which GCC calls for OpenMP. They report how threads, sections
// and tasks begin, end, and order one another. Programs are linked with --wrap for each function
// (races.wraps).
// Invariant: each wrapper does what its function does. Some functions order only some threads or
// tasks, such as the barrier of an OpenMP team. Here they order all, which may hide races and
// invents none.
#include <stdarg.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "tools/accesses/hooks.hpp"

namespace meshmem::accesses {
namespace {

// Objects that stand for synchronization of these kinds, of all OpenMP teams together. `team` also
// stands for tasks, since a barrier waits for them.
constinit char team = 0, ordered = 0, critical = 0, atomic = 0;

using Run = void (*)(void*);

// A parallel region. The work before it comes before that of its threads, and their work comes
// before the work after it.
struct Region {
  Region(Run run_, void* data_) : run(run_), data(data_) {
    change_parallel(1);
    release(this);
  }
  ~Region() {
    acquire(&end);
    acquire(&team);  // the tasks
    change_parallel(-1);
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  Run run;
  void* data;
  char end = 0;  // another object than `this`: a thread may begin when others have ended already
};
// ---- Sections: each counts as a strand of its own, also if one thread does several

struct Sections {
  bool is_in_one = false;
  char begin = 0, end = 0;  // objects that order sections
};
thread_local Sections sections;

void run_region(void* at) {
  const auto& region = *static_cast<const Region*>(at);
  const bool was_in_section = std::exchange(sections.is_in_one, false);
  {
    const Strand strand(&region, &region.end, __builtin_frame_address(0));
    region.run(region.data);
  }
  sections.is_in_one = was_in_section;
}

void leave_section() {
  if (sections.is_in_one) call_hook(&AccessHooks::end_strand, &sections.end);
  sections.is_in_one = false;
}
unsigned enter_section(unsigned number) {
  if (number == 0) return 0;
  release(&sections.begin);
  call_hook(&AccessHooks::begin_strand, &sections.begin, nullptr);
  sections.is_in_one = true;
  return number;
}
void end_sections() {
  leave_section();
  acquire(&sections.end);
}

// ---- Tasks

struct Task {
  Run run;
  void* data;  // a copy, behind this struct in the same block
  bool depends;
};
// The data of the task that libgomp gets. If the task is detached, libgomp writes its event into
// the first word.
struct TaskData {
  void* event;
  Task* task;
};
void run_task(void* at) {
  const auto [event, task] = *static_cast<const TaskData*>(at);
  if (event) *static_cast<void**>(task->data) = event;
  {
    const Strand strand(task, &team, __builtin_frame_address(0));
    if (task->depends) acquire(&team);
    task->run(task->data);
  }
  std::free(task);
}
Task* make_task(Run run, const void* data, void (*copy)(void*, const void*), long bytes, long align,
                bool depends) {
  const auto size = static_cast<std::size_t>(bytes);
  const auto alignment = std::max(static_cast<std::size_t>(align), alignof(Task));
  const std::size_t before = (sizeof(Task) + alignment - 1) / alignment * alignment;
  void* block = nullptr;
  if (posix_memalign(&block, alignment, before + size) != 0) std::abort();
  void* const to = static_cast<char*>(block) + before;
  if (copy)
    copy(to, data);
  else
    std::memcpy(to, data, size);
  return new (block) Task{run, to, depends};
}

}  // namespace
}  // namespace meshmem::accesses

using namespace meshmem::accesses;

// Declares a function of libgomp, weakly, since not all programs have it.
#define GOMP(R, name, params) extern "C" __attribute__((weak)) R name params;
#define GOMP_ACQUIRE(R, name, params, args, object) \
  GOMP(R, name, params) WRAP_ACQUIRE(R, name, params, args, object)
#define GOMP_BOTH(R, name, params, args, object) \
  GOMP(R, name, params) WRAP_BOTH(R, name, params, args, object)
#define GOMP_RELEASE(R, name, params, args, object) \
  GOMP(R, name, params) WRAP_RELEASE(R, name, params, args, object)

// ---- Regions

#define REGION(R, name, params, ...)                                           \
  GOMP(R, name, params)                                                        \
  VISIBLE R __wrap_##name params {                                             \
    if (!hooks.load(std::memory_order_acquire)) return name(run, __VA_ARGS__); \
    Region region(run, data);                                                  \
    run = run_region;                                                          \
    data = &region;                                                            \
    return name(run, __VA_ARGS__);                                             \
  }
REGION(void, GOMP_parallel, (Run run, void* data, unsigned threads, unsigned flags), data, threads,
       flags)
REGION(unsigned, GOMP_parallel_reductions, (Run run, void* data, unsigned threads, unsigned flags),
       data, threads, flags)
REGION(void, GOMP_parallel_sections,
       (Run run, void* data, unsigned threads, unsigned n, unsigned flags), data, threads, n, flags)
#define LOOP(kind)                                                                            \
  REGION(void, GOMP_parallel_loop_##kind,                                                     \
         (Run run, void* data, unsigned threads, long begin, long end, long step, long chunk, \
          unsigned flags),                                                                    \
         data, threads, begin, end, step, chunk, flags)
#define LOOP_AT_RUN_TIME(kind)                                                                     \
  REGION(void, GOMP_parallel_loop_##kind,                                                          \
         (Run run, void* data, unsigned threads, long begin, long end, long step, unsigned flags), \
         data, threads, begin, end, step, flags)
LOOP(static)
LOOP(dynamic)
LOOP(guided)
LOOP(nonmonotonic_dynamic)
LOOP(nonmonotonic_guided)
LOOP_AT_RUN_TIME(runtime)
LOOP_AT_RUN_TIME(nonmonotonic_runtime)
LOOP_AT_RUN_TIME(maybe_nonmonotonic_runtime)

// ---- Order within a region

GOMP_BOTH(void, GOMP_barrier, (), (), &team)
GOMP_BOTH(bool, GOMP_barrier_cancel, (), (), &team)
GOMP_BOTH(void, GOMP_loop_end, (), (), &team)
GOMP_BOTH(bool, GOMP_loop_end_cancel, (), (), &team)
GOMP_BOTH(void, GOMP_workshare_task_reduction_unregister, (bool is_cancelled), (is_cancelled),
          &team)
GOMP_BOTH(void*, GOMP_single_copy_start, (), (), &team)
GOMP_BOTH(void, GOMP_single_copy_end, (void* data), (data), &team)
GOMP_ACQUIRE(void, GOMP_critical_start, (), (), &critical)
GOMP_RELEASE(void, GOMP_critical_end, (), (), &critical)
GOMP_ACQUIRE(void, GOMP_critical_name_start, (void** on), (on), on)
GOMP_RELEASE(void, GOMP_critical_name_end, (void** on), (on), on)
GOMP_ACQUIRE(void, GOMP_atomic_start, (), (), &atomic)
GOMP_RELEASE(void, GOMP_atomic_end, (), (), &atomic)
GOMP_ACQUIRE(void, GOMP_ordered_start, (), (), &ordered)
GOMP_RELEASE(void, GOMP_ordered_end, (), (), &ordered)
GOMP_RELEASE(void, GOMP_doacross_post, (long* counts), (counts), &ordered)
GOMP_RELEASE(void, GOMP_doacross_ull_post, (unsigned long long* counts), (counts), &ordered)
GOMP_ACQUIRE(void, omp_set_lock, (void* on), (on), on)
GOMP_RELEASE(void, omp_unset_lock, (void* on), (on), on)
GOMP_ACQUIRE(int, omp_test_lock, (void* on), (on), on)
GOMP_ACQUIRE(void, omp_set_nest_lock, (void* on), (on), on)
GOMP_RELEASE(void, omp_unset_nest_lock, (void* on), (on), on)
GOMP_ACQUIRE(int, omp_test_nest_lock, (void* on), (on), on)

// Takes one number for each dimension of the loop. Only libgomp knows how many these are, so this
// passes on the most.
#define DOACROSS_WAIT(name, T)                                                  \
  GOMP(void, name, (T first, ...))                                              \
  VISIBLE void __wrap_##name(T first, ...) {                                    \
    T rest[7];                                                                  \
    va_list list;                                                               \
    va_start(list, first);                                                      \
    for (T & number : rest) number = va_arg(list, T);                           \
    va_end(list);                                                               \
    name(first, rest[0], rest[1], rest[2], rest[3], rest[4], rest[5], rest[6]); \
    acquire(&ordered);                                                          \
  }
DOACROSS_WAIT(GOMP_doacross_wait, long)
DOACROSS_WAIT(GOMP_doacross_ull_wait, unsigned long long)
#undef DOACROSS_WAIT

// ---- Sections

GOMP(unsigned, GOMP_sections_start, (unsigned n))
VISIBLE unsigned __wrap_GOMP_sections_start(unsigned n) {
  return enter_section(GOMP_sections_start(n));
}
GOMP(unsigned, GOMP_sections2_start, (unsigned n, std::uintptr_t* reductions, void** memory))
VISIBLE unsigned __wrap_GOMP_sections2_start(unsigned n, std::uintptr_t* reductions,
                                             void** memory) {
  return enter_section(GOMP_sections2_start(n, reductions, memory));
}
GOMP(unsigned, GOMP_sections_next, ())
VISIBLE unsigned __wrap_GOMP_sections_next() {
  leave_section();
  return enter_section(GOMP_sections_next());
}
#define END_SECTIONS(R, name)           \
  GOMP(R, name, ())                     \
  VISIBLE R __wrap_##name() {           \
    end_sections();                     \
    release(&team);                     \
    const AcquireAfter acquires{&team}; \
    return name();                      \
  }
END_SECTIONS(void, GOMP_sections_end)
END_SECTIONS(bool, GOMP_sections_end_cancel)
GOMP(void, GOMP_sections_end_nowait, ())
VISIBLE void __wrap_GOMP_sections_end_nowait() {
  end_sections();
  GOMP_sections_end_nowait();
}

// ---- Tasks

GOMP_BOTH(void, GOMP_taskwait, (), (), &team)
GOMP_BOTH(void, GOMP_taskwait_depend, (void** on), (on), &team)
GOMP_BOTH(void, GOMP_taskgroup_end, (), (), &team)

GOMP(void, GOMP_task,
     (Run run, void* data, void (*copy)(void*, const void*), long bytes, long align, bool defers,
      unsigned flags, void** depends, int priority, void* detach))
VISIBLE void __wrap_GOMP_task(Run run, void* data, void (*copy)(void*, const void*), long bytes,
                              long align, bool defers, unsigned flags, void** depends, int priority,
                              void* detach) {
  if (!hooks.load(std::memory_order_acquire))
    return GOMP_task(run, data, copy, bytes, align, defers, flags, depends, priority, detach);
  TaskData told{nullptr, make_task(run, data, copy, bytes, align, depends != nullptr)};
  release(told.task);
  GOMP_task(run_task, &told, nullptr, sizeof told, alignof(TaskData), defers, flags, depends,
            priority, detach);
  if (!defers) acquire(&team);
}
GOMP_RELEASE(void, omp_fulfill_event, (std::uintptr_t event), (event), &team)

// The tasks of a taskloop begin within libgomp, where no wrapper sees them. So while a job is
// checked the thread runs them all itself, at once.
#define TASKLOOP(name, T)                                                                        \
  GOMP(void, name,                                                                               \
       (Run run, void* data, void (*copy)(void*, const void*), long bytes, long align,           \
        unsigned flags, unsigned long n, int priority, T begin, T end, T step))                  \
  VISIBLE void __wrap_##name(Run run, void* data, void (*copy)(void*, const void*), long bytes,  \
                             long align, unsigned flags, unsigned long n, int priority, T begin, \
                             T end, T step) {                                                    \
    constexpr unsigned kDefers = 1u << 10;                                                       \
    if (hooks.load(std::memory_order_acquire)) flags &= ~kDefers;                                \
    name(run, data, copy, bytes, align, flags, n, priority, begin, end, step);                   \
    acquire(&team);                                                                              \
  }
TASKLOOP(GOMP_taskloop, long)
TASKLOOP(GOMP_taskloop_ull, unsigned long long)
