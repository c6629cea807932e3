// SPDX-License-Identifier: Apache-2.0
//
// The effects of a routine on symmetric memory and on the order of calls, by its name in the
// tables.
// Invariant: a routine that no rule knows accesses nothing and orders nothing. Used by checker.
#ifndef MESHMEM_TOOLS_RACES_RULES_HPP_
#define MESHMEM_TOOLS_RACES_RULES_HPP_

#include <string_view>

#include "tools/races/call.hpp"

namespace meshmem::races {

struct Rule {
  tracing::Kind kind = tracing::Kind::other;
  bool is_nonblocking = false;
  bool fetches = false;    // an atomic whose result the caller gets
  bool compares = false;   // a compare-and-swap whose result tells whether it has stored
  bool is_plain = false;   // p, which is no atomic
  bool completes = false;  // as quiet
  bool orders = false;     // as fence
  // Whether a collective's source, or its dest, has a block of `elements` for each PE of the team.
  bool has_source_of_all = false, has_dest_of_all = false;
  bool leaves_root = false;  // does not write the dest of the root
  bool has_counts = false;   // takes arrays of counts
};
Rule rule_of(const Call& call);

}  // namespace meshmem::races

#endif  // MESHMEM_TOOLS_RACES_RULES_HPP_
