// SPDX-License-Identifier: Apache-2.0
// One run of a kernel: its blocks on OS threads from a pool, or on the calling thread if there is
// one block only.
// Invariant: a run is finished when its last block is; the pool's threads end after a second
// without work.
#include "launch.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <thread>
#include <utility>

#include "os_thread.hpp"
#include "process_state.hpp"

namespace hip_on_cpu {
namespace {

constexpr auto kIdleThreadTime = std::chrono::seconds(1);
constexpr auto kPatience = std::chrono::milliseconds(1);

// OS threads that run blocks.
class BlockThreads {
 public:
  static BlockThreads& get() { return ProcessState<BlockThreads>::get(); }

  // Asks for OS threads that run blocks of `run`. Returns how many come.
  std::uint64_t request(const std::shared_ptr<LaunchRun>& run, std::uint64_t threads) {
    const std::lock_guard lock(mutex_);
    for (std::uint64_t coming = 0; coming < threads; ++coming) {
      if (requests_.size() >= idle_ && !start_thread()) {
        end_if_all_are_needed(*run);
        return coming;
      }
      run->expected.fetch_add(1);
      requests_.push_back(run);
      requested_.notify_one();
    }
    return threads;
  }

 private:
  // Blocks of a cooperative launch wait for each other, so some would wait for ever.
  static void end_if_all_are_needed(const LaunchRun& run) {
    if (!run.launch.is_cooperative) return;
    std::fprintf(stderr,
                 "meshmem: kernel %s, launched by hipLaunchCooperativeKernel, needs a thread for "
                 "each of its %llu blocks at once\n",
                 run.launch.kernel.name, static_cast<unsigned long long>(run.blocks));
    _exit(1);
  }

  bool start_thread() {
    if (!try_start_os_thread([this] { work(); })) return false;
    ++idle_;  // it counts from now on, so that the next request asks for another
    return true;
  }

  void work() {
    use_signal_stack();
    std::unique_lock lock(mutex_);
    while (requested_.wait_for(lock, kIdleThreadTime, [&] { return !requests_.empty(); })) {
      const std::shared_ptr<LaunchRun> run = std::move(requests_.front());
      requests_.pop_front();
      --idle_;
      lock.unlock();
      run->expected.fetch_sub(1);
      run->run_blocks();
      lock.lock();
      ++idle_;
    }
    --idle_;
  }

  std::mutex mutex_;
  std::condition_variable requested_;
  std::deque<std::shared_ptr<LaunchRun>> requests_;
  std::size_t idle_ = 0;
};

std::uint64_t threads_at_first() { return std::max(4u, 2 * std::thread::hardware_concurrency()); }

}  // namespace

void LaunchRun::run_on_threads() {
  if (blocks == 1) {
    use_signal_stack();
    run_blocks();  // this thread has nothing else to do
    return;
  }
  if (BlockThreads::get().request(shared_from_this(), std::min(blocks, threads_at_first())) == 0) {
    use_signal_stack();
    run_blocks();  // one after the other, as the system gives no other thread
  }
  wait_until_finished();
}

std::uint64_t LaunchRun::left_to_begin() const {
  const std::uint64_t started = begun.load(std::memory_order_relaxed);
  return started < blocks ? blocks - started : 0;
}

void LaunchRun::run_blocks() {
  for (;;) {
    const std::uint64_t block = begun.fetch_add(1);
    if (block >= blocks) return;
    const std::uint64_t row = block / launch.grid.x;
    run_block(*this, {static_cast<std::uint32_t>(block % launch.grid.x),
                      static_cast<std::uint32_t>(row % launch.grid.y),
                      static_cast<std::uint32_t>(row / launch.grid.y)});
    count_finished();
  }
}

void LaunchRun::note_end_of_block(unsigned calls_of_grid) {
  unsigned fewest = fewest_calls_.load(std::memory_order_relaxed);
  while (calls_of_grid < fewest && !fewest_calls_.compare_exchange_weak(fewest, calls_of_grid)) {
  }
}

void LaunchRun::arrive_at_barrier_of_grid() {
  if (at_barrier_.fetch_add(1, std::memory_order_acq_rel) + 1 != blocks) return;
  at_barrier_.store(0, std::memory_order_relaxed);
  barriers_.fetch_add(1, std::memory_order_release);  // publishes the stores of all blocks before
}

void LaunchRun::count_finished() {
  const std::lock_guard lock(mutex_);
  if (++finished_ == blocks) changed_.notify_all();
}

void LaunchRun::ask_for_another_thread() {
  if (expected.load(std::memory_order_relaxed) < left_to_begin()) {
    BlockThreads::get().request(shared_from_this(), 1);
  }
}

// Blocks may also wait without saying so (a loop around an atomic). So if none has finished for a
// while, the rest get OS threads as well, twice as many each time.
void LaunchRun::wait_until_finished() {
  std::unique_lock lock(mutex_);
  const auto is_finished = [&] { return finished_ == blocks; };
  while (left_to_begin() > 0) {
    const std::uint64_t before = finished_;
    if (changed_.wait_for(lock, kPatience, is_finished)) return;
    const std::uint64_t left = left_to_begin(), running = begun.load() - finished_;
    if (finished_ != before || expected.load() >= left) continue;
    lock.unlock();
    BlockThreads::get().request(
        shared_from_this(), std::min(left - expected.load(), std::max<std::uint64_t>(running, 1)));
    lock.lock();
  }
  changed_.wait(lock, is_finished);
}

}  // namespace hip_on_cpu
