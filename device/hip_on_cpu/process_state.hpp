// SPDX-License-Identifier: Apache-2.0
// State that a process has once and never destroys: threads that run kernels may outlive main().
// Invariant: a child of fork() starts with fresh state, since the threads behind the old one stayed
// with the parent, and its mutexes may be locked for ever. Used by allocations, streams, events,
// graphs and block threads.
#pragma once

#include <pthread.h>

namespace hip_on_cpu {

template <typename T>
class ProcessState {
 public:
  static T& get() {
    static const bool armed = arm();
    static_cast<void>(armed);
    return *current_;
  }

 private:
  static bool arm() {
    current_ = new T;
    return pthread_atfork(nullptr, nullptr, &start_afresh) == 0;
  }
  static void start_afresh() {
    retired_ = current_;  // still reachable, so that no leak checker minds
    current_ = new T;
  }

  inline static T* current_ = nullptr;
  inline static T* retired_ = nullptr;
};

}  // namespace hip_on_cpu
