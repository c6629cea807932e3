// SPDX-License-Identifier: Apache-2.0
//
// Loads libmeshmem_trace.so where MESHMEM_TRACE asks for a trace, or libmeshmem_races.so where
// MESHMEM_CHECK asks for races, and tells it of the job.
// Invariant: a job that is not traced or checked loads nothing and pays nothing. Called by init and
// finalize.
#ifndef MESHMEM_CORE_TRACE_LIBRARY_HPP_
#define MESHMEM_CORE_TRACE_LIBRARY_HPP_

#include <optional>
#include <string>

#include "base/hooks/trace_job.hpp"

namespace meshmem {

// Collective. `routine`: the init that opens the library; it has begun at `begin`. Returns nullopt,
// or a line that says why there can be no trace or check.
std::optional<std::string> open_trace(const char* routine, int thread_level,
                                      const TraceMoment& begin);
// Collective, while everything can still be used. Does nothing if there is no trace.
void close_trace();

}  // namespace meshmem

#endif  // MESHMEM_CORE_TRACE_LIBRARY_HPP_
