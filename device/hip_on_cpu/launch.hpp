// SPDX-License-Identifier: Apache-2.0
// A kernel with its shape, and one run of it (a graph may run a launch again and again).
// Invariant: every block of a run gets an OS thread as soon as the blocks that have one wait, so
// that blocks can always wait for each other. Made by submit.cpp, seen by block.cpp and faults.cpp.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "hip/on_cpu/launch.h"

namespace hip_on_cpu {

struct KernelLaunch {
  KernelLaunch(const BoundKernel& bound, dim3 grid_size, dim3 block_size, std::size_t shared_size,
               bool cooperative)
      : kernel(bound),
        grid(grid_size),
        block(block_size),
        shared(shared_size),
        is_cooperative(cooperative) {}
  ~KernelLaunch() { kernel.destroy(kernel.arguments); }
  KernelLaunch(const KernelLaunch&) = delete;
  KernelLaunch& operator=(const KernelLaunch&) = delete;

  std::uint64_t blocks() const { return std::uint64_t{grid.x} * grid.y * grid.z; }

  const BoundKernel kernel;
  const dim3 grid, block;
  const std::size_t shared;
  const bool is_cooperative;
};

struct LaunchRun : std::enable_shared_from_this<LaunchRun> {
  using RunBlock = void (*)(LaunchRun& run, dim3 block);  // on the OS thread that calls
  LaunchRun(const KernelLaunch& launched, RunBlock runs_block)
      : launch(launched), blocks(launched.blocks()), run_block(runs_block) {}

  void run_on_threads();          // all blocks; returns when they are finished
  void run_blocks();              // on this OS thread, until all have begun
  void ask_for_another_thread();  // by a block that waits
  // A block that ends notes how many routines of the grid it has called. fewest_calls_of_grid() is
  // the least of these.
  void note_end_of_block(unsigned calls_of_grid);
  unsigned fewest_calls_of_grid() const { return fewest_calls_.load(std::memory_order_relaxed); }
  bool has_ended_blocks() const { return fewest_calls_.load(std::memory_order_acquire) != kNone; }

  // The barrier of the grid: each block arrives once. When all have, barriers_of_grid() counts up.
  void arrive_at_barrier_of_grid();
  unsigned barriers_of_grid() const { return barriers_.load(std::memory_order_acquire); }

  const KernelLaunch&
      launch;  // ends with the run; OS threads that come too late look at `blocks` only
  const std::uint64_t blocks;
  const RunBlock run_block;
  std::atomic<std::uint64_t> begun{0};     // blocks
  std::atomic<std::uint64_t> expected{0};  // OS threads that were asked for and have not come yet

 private:
  void wait_until_finished();
  std::uint64_t left_to_begin() const;
  void count_finished();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t finished_ = 0;
  static constexpr unsigned kNone = ~0u;
  std::atomic<unsigned> fewest_calls_{kNone};
  std::atomic<std::uint64_t> at_barrier_{0};
  std::atomic<unsigned> barriers_{0};
};

// Checks a launch and puts it on a stream. The stream's worker calls `runs_all`, which has
// `runs_block` run each block. Takes over the kernel's arguments, also when it fails.
hipError_t submit_launch(
    const BoundKernel& kernel, dim3 grid, dim3 block, std::size_t shared, hipStream_t stream,
    bool is_cooperative, LaunchRun::RunBlock runs_block,
    void (*runs_all)(LaunchRun&) = [](LaunchRun& run) { run.run_on_threads(); });

// Ends the process with a line that names the mistake, the kernel, the block and `thread`. nullptr:
// the thread that runs now, whose place in the program may follow.
[[noreturn]] void fail_in_kernel(const char* what, const ThreadState* thread = nullptr);
void catch_faults_in_kernels();  // once; leaves handlers of the program alone
void use_signal_stack();         // on each OS thread that runs kernels, which may fill its stack

}  // namespace hip_on_cpu
