// SPDX-License-Identifier: Apache-2.0
//
// The library's start and end as a program asks for them: the Runtime, and the environment's
// settings of collectives.
// Invariant: initializations are counted. The first one opens the library, and the last
// finalization closes it. Called by api/setup.cpp and api/uniqueid.cpp.
#ifndef MESHMEM_LIBRARY_INIT_FINALIZE_HPP_
#define MESHMEM_LIBRARY_INIT_FINALIZE_HPP_

#include <optional>
#include <string>

namespace meshmem {

// The PE that the program asks to be.
struct Place {
  int pe, n_pes;
};

// Counts one more initialization. Returns nullopt, or why it failed: then it counts none. An
// exception of a library that it calls becomes such a reason too. thread_level: what the program
// asks for (SHMEM_THREAD_*). Without a place, any is right.
std::optional<std::string> start_or_say_why(const char* routine, int thread_level,
                                            std::optional<Place> asked = std::nullopt);

// For an error that all PEs are likely to make alike: PE 0 prints it and ends the job. Another PE
// prints it only if it still runs a second later, because then PE 0 did not have this error.
[[noreturn]] void fail_together(const std::string& message);

// Counts one initialization less. Waits for all PEs. Call it only while the library is active.
void finish(const char* routine);

// For a shmem_finalize without a matching initialization: prints a line if SHMEM_DEBUG is set, and
// changes nothing. Programs written for other libraries make such a call as they end.
void debug_finalize_of_nothing();

}  // namespace meshmem

#endif  // MESHMEM_LIBRARY_INIT_FINALIZE_HPP_
