// SPDX-License-Identifier: Apache-2.0
// The scheduler of a block: which thread runs next when a thread waits, and when a barrier or a
// meeting of a wave is complete.
// Invariant: as long as a thread of the block lives, one is running, ready, or not begun. A thread
// that completes a barrier or a meeting, also by exiting, makes the threads that wait there ready.
#include "block.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <utility>

#include "hip/on_cpu/for_meshmem.h"
#include "launch.hpp"
#include "process_state.hpp"

__thread dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace hip_on_cpu {

__thread ThreadState* current_thread __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

// An OS thread whose fibers all wait first spins, then yields, then also naps now and then, as
// there may be more PEs than cores. It does not nap each time: many short waits in a row look like
// one long wait.
constexpr unsigned kSpins = 16, kYields = 200, kYieldsPerNap = 16;
constexpr long kFirstNap = 20 * 1000, kLongestNap = 60 * 1000;                 // nanoseconds
constexpr long long kShownAfter = 1000 * 1000, kSayAgain = 100 * 1000 * 1000;  // the same
// By how many nanoseconds Linux may prolong a nap; its own value is 50,000.
constexpr unsigned long kTimerSlack = 1000;

std::atomic<const WaitObserver*> wait_observer{nullptr};

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void nap(long duration) {
  const timespec time{0, duration};
  nanosleep(&time, nullptr);
}

void advance(dim3& index, const dim3& size) {
  if (++index.x < size.x) return;
  index.x = 0;
  if (++index.y < size.y) return;
  index.y = 0;
  ++index.z;
}

[[noreturn]] void refuse_part(const char* routine, const char* group, const char* who,
                              const ThreadState* thread = nullptr) {
  char text[256];
  std::snprintf(text, sizeof(text), "a call of %s, which takes all threads of the %s; %s", routine,
                group, who);
  fail_in_kernel(text, thread);
}

// Ends the process if two threads of a group have called different routines of it. The line names
// the thread that has left out a call, or made another one.
void compare(const ThreadState& first, const ThreadState& other, GroupCalls ThreadState::*calls,
             const char* group) {
  const GroupCalls &a = first.*calls, &b = other.*calls;
  if (a == b) return;
  const bool first_lacks = a.count < b.count;
  refuse_part(first_lacks ? b.last : a.last, group, "this thread did not make it",
              first_lacks ? &first : &other);
}

// exit() locks it for good, and so waits for OS threads that destroy their fibers. Meanwhile such a
// thread runs on a fiber's stack: a leak checker would report objects that only its own stack
// refers to.
std::shared_mutex& destruction_of_fibers() { return ProcessState<std::shared_mutex>::get(); }

}  // namespace

void BlockRunner::FreeMemory::operator()(void* memory) const { std::free(memory); }

BlockRunner& BlockRunner::of_this_os_thread() {
  // By pointer: the library's thread-local memory has to be small, since every new thread allocates
  // it.
  thread_local const auto runner = std::make_unique<BlockRunner>();
  return *runner;
}

BlockRunner::BlockRunner() {
  prctl(PR_SET_TIMERSLACK, kTimerSlack);
  static const bool ends_in_order = std::atexit([] { destruction_of_fibers().lock(); }) == 0;
  static_cast<void>(ends_in_order);
}

BlockRunner::~BlockRunner() {
  const std::shared_lock until_all_are_destroyed(destruction_of_fibers());
  ending_ = true;  // each fiber ends in an orderly way, which the sanitizers want to see
  for (Fiber* fiber : idle_) resume(main_, *fiber);
  for (const auto& fiber : fibers_) destroy_fiber(*fiber);
}

void BlockRunner::begin(LaunchRun& launch, dim3 block) {
  const KernelLaunch& shape = launch.launch;
  launch_ = &launch;
  void* const shared = shape.shared > 0 ? shared_memory() : nullptr;
  state_ = {block, shared, this, shape.is_cooperative, false, 0};
  size_ = live_ = shape.block.x * shape.block.y * shape.block.z;
  begun_ = at_barrier_ = 0;
  votes_ = {};
  at_grid_barrier_ = 0;
  next_index_ = {0, 0, 0};
  blockIdx = block;
  blockDim = shape.block;
  gridDim = shape.grid;
  for (unsigned first = 0; first < size_; first += warpSize) {
    Wave& wave = waves_[first / warpSize];
    wave.live = kAllLanes >> (warpSize - std::min<unsigned>(warpSize, size_ - first));
    wave.at_barrier = wave.turn = 0;
    wave.values[0].lanes = wave.values[1].lanes = 0;
  }
  made_progress();
}

void* BlockRunner::shared_memory() {
  if (shared_memory_ == nullptr) {
    shared_memory_.reset(std::aligned_alloc(128, kSharedMemoryPerBlock));
    if (shared_memory_ == nullptr) fail_in_kernel("there is no memory for __shared__ variables");
  }
  return shared_memory_.get();
}

void BlockRunner::run(LaunchRun& launch, dim3 block) {
  begin(launch, block);
  adopt_current_stack(main_);
  resume(main_, *fiber_of_new_thread());
  launch_ = nullptr;
}

// The body of each fiber: runs threads that have not begun, sleeps when there are none, and starts
// over when it is resumed.
void BlockRunner::fiber_body() {
  BlockRunner& runner = of_this_os_thread();
  Fiber& self = *runner.running_;
  while (!runner.ending_) {
    runner.run_threads(self);
    runner.idle_.push_back(&self);
    runner.resume(self, runner.live_ == 0 ? runner.main_ : *runner.next_ready());
  }
  runner.running_ = &runner.main_;
  leave_fiber(self, runner.main_);
}

void BlockRunner::run_threads(Fiber& self) {
  while (begun_ < size_) {
    const unsigned rank = begun_++;
    threads_[rank] = {.index = next_index_, .block = &state_, .rank = rank};
    advance(next_index_, blockDim);
    run_thread(self, threads_[rank]);
  }
  self.thread = nullptr;
}

void BlockRunner::run_thread(Fiber& self, ThreadState& thread) {
  self.thread = current_thread = &thread;
  threadIdx = thread.index;
  const BoundKernel& kernel = launch_->launch.kernel;
  try {
    kernel.run(kernel.arguments);
  } catch (const std::exception& exception) {
    fail_in_kernel(exception.what());
  } catch (...) {
    fail_in_kernel("an exception left the kernel");
  }
  end_thread(thread.rank);
}

void BlockRunner::end_thread(unsigned rank) {
  made_progress();
  --live_;
  Wave& wave = waves_[rank / warpSize];
  wave.live &= ~bit_of(rank);
  release_wave_if_complete(wave);
  release_meetings(wave);
  release_barrier_if_complete();
  if (live_ > 0) return;
  check_calls();
  launch_->note_end_of_block(threads_[0].of_grid);
}

Fiber* BlockRunner::fiber_of_new_thread() {
  if (!idle_.empty()) {
    Fiber* fiber = idle_.back();
    idle_.pop_back();
    return fiber;
  }
  auto fiber = std::make_unique<Fiber>();
  if (!make_fiber(*fiber, static_cast<unsigned>(fibers_.size()), &fiber_body))
    fail_in_kernel(
        "no stack for another waiting thread (no memory left, or too many for ThreadSanitizer)");
  fibers_.push_back(std::move(fiber));
  return fibers_.back().get();
}

// New threads first: the others may wait for them.
Fiber* BlockRunner::next_ready() {
  if (begun_ < size_) return fiber_of_new_thread();
  if (ready_.empty()) fail_as_none_is_ready();
  return ready_.pop();
}

void BlockRunner::resume(Fiber& from, Fiber& to) {
  running_ = &to;
  current_thread = to.thread;
  if (to.thread != nullptr) threadIdx = to.thread->index;
  switch_fiber(from, to);
}

// Puts the running fiber on `list`; returns when that fiber is ready and has its turn.
void BlockRunner::wait_in(FiberList& list) {
  Fiber& self = *running_;
  list.push(&self);
  Fiber* next = next_ready();
  if (next != &self) resume(self, *next);
}

void BlockRunner::made_progress() {
  yields_ = pauses_ = 0;
  if (wait_since_ != 0) hide_wait();
}

void BlockRunner::pause_os_thread() {
  launch_->ask_for_another_thread();
  if (current_thread->of_grid > launch_->fewest_calls_of_grid())
    refuse_part(current_thread->of_block.last, "grid", "a block of it has ended without the call");
  const unsigned pause = pauses_++;
  if (pause < kSpins) return relax();
  if (pause < kYields || pause % kYieldsPerNap != 0) {
    sched_yield();
    return;
  }
  nap(std::min(kLongestNap, kFirstNap + static_cast<long>(pause - kYields) * 1000));
  show_wait();
}

// Called after naps only: beside a nap, reading the clock costs nothing.
void BlockRunner::show_wait() {
  const WaitObserver* const observer = wait_observer.load(std::memory_order_acquire);
  const ThreadState& thread = *running_->thread;
  if (observer == nullptr || thread.awaited == nullptr) return;
  const long long now = nanoseconds();
  if (wait_since_ == 0) wait_since_ = now;
  if (now - wait_since_ < kShownAfter || now < say_at_) return;
  say_at_ = now + kSayAgain;
  const dim3 &block = state_.block, &index = thread.index;
  const char* const name = launch_->launch.kernel.name;
  const bool says_so = std::strncmp(name, "a kernel", 8) == 0;  // one launched by its address
  char who[128];
  std::snprintf(who, sizeof who, "%s%.60s, block (%u,%u,%u), thread (%u,%u,%u)",
                says_so ? "" : "kernel ", name, block.x, block.y, block.z, index.x, index.y,
                index.z);
  shown_ = observer->say(shown_, who, thread.awaited, static_cast<std::uint64_t>(wait_since_));
}

void BlockRunner::hide_wait() {
  wait_since_ = say_at_ = 0;
  if (shown_ != nullptr)
    wait_observer.load(std::memory_order_acquire)->end(std::exchange(shown_, nullptr));
}

void BlockRunner::end_wait() {
  running_->thread->awaited = nullptr;
  if (wait_since_ != 0) hide_wait();
}

void BlockRunner::yield() {
  // Each ready fiber has run once and still waits: only another OS thread or process can help.
  if (begun_ == size_ && ++yields_ > ready_.size()) {
    yields_ = 0;
    if (!release_active_lanes()) pause_os_thread();
    if (ready_.empty()) return;
  }
  wait_in(ready_);
}

void BlockRunner::release_barrier_if_complete() {
  if (at_barrier_ == 0 || at_barrier_ != live_) return;
  check_calls();
  if (votes_.voters != 0 && votes_.voters != at_barrier_)
    fail_in_kernel("only some threads of the block count votes at the barrier");
  outcome_ = std::exchange(votes_, {});
  if (at_grid_barrier_ != 0) meet_in_grid();
  at_barrier_ = 0;
  for (unsigned first = 0; first < size_; first += warpSize)
    waves_[first / warpSize].at_barrier = 0;
  ready_.take_all(at_barrier_list_);
}

void BlockRunner::check_calls_of_wave(unsigned wave) const {
  const std::uint32_t bit = 1u << wave;
  if ((state_.waves_with_calls & bit) == 0) return;
  state_.waves_with_calls &= ~bit;
  const unsigned first = wave * warpSize, end = std::min<unsigned>(first + warpSize, size_);
  for (unsigned rank = first + 1; rank < end; ++rank)
    compare(threads_[first], threads_[rank], &ThreadState::of_wave, "wave");
}

// All threads of the block wait at its barrier, or have ended.
void BlockRunner::check_calls() const {
  if (state_.has_calls) {
    state_.has_calls = false;
    for (unsigned rank = 1; rank < size_; ++rank)
      compare(threads_[0], threads_[rank], &ThreadState::of_block, "block");
  }
  for (unsigned wave = 0; state_.waves_with_calls != 0; ++wave) check_calls_of_wave(wave);
}

void BlockRunner::block_barrier() {
  made_progress();
  Wave& wave = waves_[running_->thread->rank / warpSize];
  ++at_barrier_;
  if (at_barrier_ == live_) return release_barrier_if_complete();
  wave.at_barrier |= bit_of(running_->thread->rank);
  release_wave_if_complete(wave);
  release_meetings(wave);
  wait_in(at_barrier_list_);
}

void BlockRunner::grid_barrier() {
  if (!state_.is_cooperative)
    fail_in_kernel("a barrier of the grid, which needs a launch by hipLaunchCooperativeKernel");
  ++at_grid_barrier_;
  block_barrier();
}

// All threads of the block wait at its barrier, so the one that runs now waits for other blocks. A
// block that has ended has arrived at all barriers that are over, and will not arrive at this one.
void BlockRunner::meet_in_grid() {
  if (std::exchange(at_grid_barrier_, 0) != at_barrier_)
    fail_in_kernel("only some threads of the block are at the barrier of the grid");
  const unsigned round = launch_->barriers_of_grid();
  launch_->arrive_at_barrier_of_grid();
  while (launch_->barriers_of_grid() == round) {
    if (launch_->has_ended_blocks() && launch_->barriers_of_grid() == round)
      fail_in_kernel("a barrier of the grid, of which a block has ended");
    pause_os_thread();
  }
  made_progress();
}

BlockVotes BlockRunner::vote_in_block(bool mine) {
  ++votes_.voters;
  if (mine) ++votes_.ayes;
  block_barrier();
  return outcome_;
}

void yield() {
  if (!in_kernel()) {
    std::this_thread::yield();
    return;
  }
  current_thread->block->runner->yield();
}

void yield_for(const void* awaited) {
  if (in_kernel()) current_thread->awaited = awaited;
  yield();
}

void end_wait() { current_thread->block->runner->end_wait(); }

void observe_waits(const WaitObserver* observer) {
  wait_observer.store(observer, std::memory_order_release);
}

void block_barrier() { current_thread->block->runner->block_barrier(); }

// Also outside of kernels: a file's first use of a thread-local variable initializes all.
void* dynamic_shared_memory() { return BlockRunner::of_this_os_thread().shared_memory(); }

void grid_barrier() { current_thread->block->runner->grid_barrier(); }

BlockVotes vote_in_block(bool mine) { return current_thread->block->runner->vote_in_block(mine); }

long long nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

}  // namespace hip_on_cpu
