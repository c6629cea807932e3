// SPDX-License-Identifier: Apache-2.0
//
// Collectives: what each member reads and writes, and from which members it has learned when the
// call returns.
// Invariant: all members call all collectives of a team, so they count them alike, and the number
// names the same collective on each. Called by checker, which holds its mutex.
#ifndef MESHMEM_TOOLS_RACES_COLLECTIVES_HPP_
#define MESHMEM_TOOLS_RACES_COLLECTIVES_HPP_

#include "tools/races/call.hpp"
#include "tools/races/rules.hpp"

namespace meshmem::races {

bool is_collective(tracing::Kind kind);
void begin_collective(Call& call, const Rule& rule);
void end_collective(const Call& call, const Rule& rule);

}  // namespace meshmem::races

#endif  // MESHMEM_TOOLS_RACES_COLLECTIVES_HPP_
