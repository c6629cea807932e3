// SPDX-License-Identifier: Apache-2.0
// Runs one block of a kernel on the calling OS thread, with its threads as fibers.
// Invariant: a fiber is made only when a thread has to wait. A fiber whose thread has ended runs
// the next thread that has not begun. A thread of the block is: not begun, running, ready, waiting
// at a barrier or in an operation of its wave, or exited. Used by submit.cpp. Kernels call members
// (barrier, wave, yield) through functions in block.cpp and wave.cpp.
#pragma once

#include <memory>
#include <vector>

#include "devices.hpp"
#include "fiber.hpp"
#include "hip/on_cpu/thread.h"
#include "hip/on_cpu/wave.h"

namespace hip_on_cpu {

struct LaunchRun;

// The lane of a thread, as a mask.
inline std::uint64_t bit_of(unsigned rank) { return std::uint64_t{1} << rank % warpSize; }

class BlockRunner {
 public:
  static BlockRunner& of_this_os_thread();
  BlockRunner();
  ~BlockRunner();
  BlockRunner(const BlockRunner&) = delete;
  BlockRunner& operator=(const BlockRunner&) = delete;

  void run(LaunchRun& launch, dim3 block);
  const LaunchRun* launch() const { return launch_; }

  // Called by the kernel's thread that runs now.
  void yield();
  void end_wait();
  void block_barrier();
  BlockVotes vote_in_block(bool mine);
  void grid_barrier();
  void* shared_memory();
  const WaveValues& meet_in_wave(WaveOperation operation, std::uint64_t value);
  const WaveValues& meet_lanes(WaveOperation operation, std::uint64_t value, const LanesAt& who);

 private:
  static constexpr unsigned kMaxWaves = kMaxThreadsPerBlock / warpSize;

  // A meeting of the lanes that a mask names, or of those that are active at one line of the
  // source.
  struct Meeting {
    LanesAt who;
    WaveValues values{};
    FiberList waiting{};
    bool is_over = false;
  };

  // Sets of lanes are masks. Meetings of the whole wave use the two sets of values in turn. When a
  // lane comes to the meeting after the next one, all lanes have read the values of this one.
  struct Wave {
    std::uint64_t live, at_barrier;
    unsigned turn;
    FiberList waiting;
    WaveValues values[2];
    std::vector<std::shared_ptr<Meeting>> meetings;  // those that are not over
  };

  void begin(LaunchRun& launch, dim3 block);
  static void fiber_body();
  void run_threads(Fiber& self);
  void run_thread(Fiber& self, ThreadState& thread);
  void end_thread(unsigned rank);
  void check_calls() const;
  void check_calls_of_wave(unsigned wave) const;
  void release_barrier_if_complete();
  void meet_in_grid();
  void release_wave_if_complete(Wave& wave);
  void release_meetings(Wave& wave);
  bool release_active_lanes(Wave& wave);
  bool release_active_lanes();
  void release(Meeting& meeting);

  Fiber* fiber_of_new_thread();
  Fiber* next_ready();
  [[noreturn]] void fail_as_none_is_ready();
  void wait_in(FiberList& list);
  void resume(Fiber& from, Fiber& to);
  void made_progress();
  void pause_os_thread();
  void show_wait();
  void hide_wait();

  LaunchRun* launch_ = nullptr;
  BlockState state_{};
  std::vector<ThreadState> threads_ = std::vector<ThreadState>(kMaxThreadsPerBlock);
  unsigned size_ = 0, begun_ = 0, live_ = 0, at_barrier_ = 0;
  BlockVotes votes_{}, outcome_{};  // of the barrier that threads wait at; of the last one
  unsigned at_grid_barrier_ = 0;    // of at_barrier_, those that wait for the grid
  dim3 next_index_;                 // of the thread that begins next
  Wave waves_[kMaxWaves];
  // By thread: its last meeting, kept so that the thread can read the values.
  std::vector<std::shared_ptr<Meeting>> last_meetings_;

  Fiber main_;  // the OS thread's own stack
  Fiber* running_ = nullptr;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  FiberList ready_, at_barrier_list_;
  unsigned yields_ = 0, pauses_ = 0;
  long long wait_since_ = 0;  // when this OS thread's wait came to its first nap; 0: it has not
  long long say_at_ = 0;      // when to show the wait next; both are values of nanoseconds()
  void* shown_ = nullptr;     // the last result of the observer's say()
  bool ending_ = false;

  struct FreeMemory {
    void operator()(void* memory) const;
  };
  std::unique_ptr<void, FreeMemory> shared_memory_;
};

}  // namespace hip_on_cpu
