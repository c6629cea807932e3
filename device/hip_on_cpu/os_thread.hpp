// SPDX-License-Identifier: Apache-2.0
// Starting the OS threads that run streams and blocks.
// Invariant: if the system refuses a thread, no exception is thrown. The first refusal prints a
// line, and the caller goes on without the thread or fails. Used by streams.cpp and launch.cpp.
#pragma once

#include <functional>

namespace hip_on_cpu {

// Starts a detached thread; false if the system refuses it.
bool try_start_os_thread(std::function<void()> body);

}  // namespace hip_on_cpu
