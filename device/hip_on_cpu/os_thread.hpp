// SPDX-License-Identifier: Apache-2.0
// Starting the OS threads that run streams and blocks.
// Invariant: a thread that the system refuses is no exception: it is a line, the first time, and
// the caller does with those that there are. Used by streams.cpp and launch.cpp.
#pragma once

#include <functional>

namespace hip_on_cpu {

// A thread that nobody waits for; false where there is none to be had.
bool try_start_os_thread(std::function<void()> body);

}  // namespace hip_on_cpu
