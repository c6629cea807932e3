// SPDX-License-Identifier: Apache-2.0
//
// Starts threads of the library. Invariant: if the system refuses one, the job ends with a line,
// and no exception is thrown. Called by every layer that has a thread of its own.
#ifndef MESHMEM_BASE_MACHINE_THREAD_HPP_
#define MESHMEM_BASE_MACHINE_THREAD_HPP_

#include <signal.h>

#include <system_error>
#include <thread>
#include <utility>

#include "base/error.hpp"

namespace meshmem {

// `what` continues the message "cannot start a thread ...", as in "that waits for the streams".
// Signals are for the program's own threads, so they stay blocked in this one.
template <typename... Call>
std::thread start_thread(const char* what, Call&&... call) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread started(std::forward<Call>(call)...);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return started;
  } catch (const std::system_error& refusal) {
    fatal(
        "cannot start a thread {}: {}; raise the limit of processes (`ulimit -u`, or pids.max of "
        "the control group)",
        what, refusal.code().message());
  }
}

}  // namespace meshmem

#endif  // MESHMEM_BASE_MACHINE_THREAD_HPP_
