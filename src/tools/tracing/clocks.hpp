// SPDX-License-Identifier: Apache-2.0
//
// How far this machine's clock is from that of PE 0's, by messages to and fro.
// Invariant: within half of the fastest round trip; of clocks that may be one, 0. Collective.
#ifndef MESHMEM_TOOLS_TRACING_CLOCKS_HPP_
#define MESHMEM_TOOLS_TRACING_CLOCKS_HPP_

#include "tools/tracing/part_file.hpp"

namespace meshmem::tracing {

// To add to times of this PE. Where memory for it is missing, 0.
ClockOffset measure_clock(const TraceJob& job);

}  // namespace meshmem::tracing

#endif  // MESHMEM_TOOLS_TRACING_CLOCKS_HPP_
