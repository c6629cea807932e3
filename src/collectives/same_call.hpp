// SPDX-License-Identifier: Apache-2.0
//
// Under MESHMEM_CHECK the members of a team say what they call, the routine and its arguments, and
// look whether PE 0 of the team calls the same. Two calls that differ end the job with one line
// that shows both.
// Invariant: a comparison is an operation of the team of its own, the same for all routines, before
// the collective begins: so it ends whatever the members call. Called by the API and by
// dispatch.cpp, and without the check at the cost of a branch.
#ifndef MESHMEM_COLLECTIVES_SAME_CALL_HPP_
#define MESHMEM_COLLECTIVES_SAME_CALL_HPP_

#include <fmt/core.h>

#include <cstddef>
#include <string>

#include "core/team.hpp"

namespace meshmem {

extern constinit bool calls_are_compared;  // set by start-up, alike on all PEs

[[gnu::cold, gnu::noinline]] void compare_call(Team& team, fmt::string_view arguments,
                                               fmt::format_args values);
// Of calls on streams: whoever comes later looks, nobody waits. Those that lie too far back are
// forgotten.
[[gnu::cold, gnu::noinline]] void compare_stream_call(Team& team, const std::string& arguments);

// Before a collective of the host; team.routine() is its name.
template <typename... Values>
[[gnu::always_inline]] inline void expect_same_call(Team& team,
                                                    fmt::format_string<const Values&...> arguments,
                                                    const Values&... values) {
  if (calls_are_compared) [[unlikely]]
    compare_call(team, arguments, fmt::make_format_args(values...));
}

// Of the members that find the same mistake the first returns; the others wait for the job's end.
void only_one_speaks(const Team& team);

// The name of an address that is the same on all PEs: "heap + 64".
std::string symmetric_name(const void* address);

}  // namespace meshmem

#endif  // MESHMEM_COLLECTIVES_SAME_CALL_HPP_
