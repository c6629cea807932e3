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

// `routine` has begun the library at `begin`. Collective. nullopt, or a line that says why there
// can be no trace.
std::optional<std::string> open_trace(const char* routine, int thread_level,
                                      const TraceMoment& begin);
// Collective, while everything can still be used; nothing where there is no trace.
void close_trace();

}  // namespace meshmem

#endif  // MESHMEM_CORE_TRACE_LIBRARY_HPP_
