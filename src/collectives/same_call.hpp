// SPDX-License-Identifier: Apache-2.0
//
// Under MESHMEM_CHECK the members of a team tell each other the routine that they call and its
// arguments, and compare their call with that of PE 0 of the team. Two calls that differ end the
// job with one line that shows both.
// Invariant: a comparison is a team operation of its own, the same for all routines, before the
// collective begins. So it completes, whatever the members call. Without MESHMEM_CHECK a call costs
// a branch. Called by the API, dispatch.cpp and library/.
#ifndef MESHMEM_COLLECTIVES_SAME_CALL_HPP_
#define MESHMEM_COLLECTIVES_SAME_CALL_HPP_

#include <fmt/core.h>

#include <cstddef>
#include <string>

#include "core/team.hpp"

namespace meshmem {

extern constinit bool calls_are_compared;  // set by start-up, to the same value on all PEs

[[gnu::cold, gnu::noinline]] void compare_call(Team& team, fmt::string_view arguments,
                                               fmt::format_args values);
// The same for calls on streams, without waiting: a PE compares its call with those that others
// have made already. Only the newest kSaidCalls calls are kept.
[[gnu::cold, gnu::noinline]] void compare_stream_call(Team& team, const std::string& arguments);

// Before a collective of the host; team.routine() is its name.
template <typename... Values>
[[gnu::always_inline]] inline void expect_same_call(Team& team,
                                                    fmt::format_string<const Values&...> arguments,
                                                    const Values&... values) {
  if (calls_are_compared) [[unlikely]]
    compare_call(team, arguments, fmt::make_format_args(values...));
}

// If several members find the same mistake, returns on the first one; the others wait for the job's
// end.
void only_one_speaks(const Team& team);

// The name of an address that is the same on all PEs: "heap + 64".
std::string symmetric_name(const void* address);

}  // namespace meshmem

#endif  // MESHMEM_COLLECTIVES_SAME_CALL_HPP_
