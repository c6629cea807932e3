// SPDX-License-Identifier: Apache-2.0
//
// The library's start and end as a program asks for them: the Runtime, and what the environment
// says of collectives. Invariant: who initializes several times finalizes as often; the first and
// the last do the work. Called by api/setup.cpp.
#ifndef MESHMEM_LIBRARY_INIT_FINALIZE_HPP_
#define MESHMEM_LIBRARY_INIT_FINALIZE_HPP_

#include <optional>
#include <string>

namespace meshmem {

// One more initialization. nullopt, or why there is none, whatever may be thrown on the way by the
// standard library and by libraries that it calls.
std::optional<std::string> start_or_say_why(const char* routine);

// For an error that all PEs are likely to make alike: PE 0 tells it and ends the job. The others
// speak up only if they are still there a second later, so it was theirs alone.
[[noreturn]] void fail_together(const std::string& message);

// One initialization less, when all PEs are here. The library is active.
void finish(const char* routine);

// A call without an initialization to undo changes nothing: programs of other libraries make it on
// their way out.
void debug_finalize_of_nothing();

}  // namespace meshmem

#endif  // MESHMEM_LIBRARY_INIT_FINALIZE_HPP_
