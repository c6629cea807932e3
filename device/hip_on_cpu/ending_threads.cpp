// SPDX-License-Identifier: Apache-2.0
// A count of the threads that end, for which the end of the process waits.
// Invariant: a child of fork() counts its own threads only.
#include "ending_threads.hpp"

#include <condition_variable>
#include <cstdlib>
#include <mutex>

#include "process_state.hpp"

namespace hip_on_cpu {
namespace {

struct EndingThreads {
  std::mutex mutex;
  std::condition_variable changed;
  int count = 0;
  bool is_waited_for = true;
};

void wait_for_ending_threads() {
  auto& threads = ProcessState<EndingThreads>::get();
  std::unique_lock lock(threads.mutex);
  threads.changed.wait(lock, [&] { return threads.count == 0; });
  threads.is_waited_for = false;
}

}  // namespace

void watch_end_of_process() {
  static const bool watched = std::atexit(wait_for_ending_threads) == 0;
  static_cast<void>(watched);
}

EndingThread::EndingThread() {
  auto& threads = ProcessState<EndingThreads>::get();
  const std::lock_guard lock(threads.mutex);
  is_in_time_ = threads.is_waited_for;
  ++threads.count;
}

EndingThread::~EndingThread() {
  auto& threads = ProcessState<EndingThreads>::get();
  const std::lock_guard lock(threads.mutex);
  if (--threads.count == 0) threads.changed.notify_all();
}

}  // namespace hip_on_cpu
