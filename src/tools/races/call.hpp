// SPDX-License-Identifier: Apache-2.0
//
// A call of a routine: its arguments, by their names in the tables.
// Invariant: a member for which the routine has no argument is 0. Filled by the wrappers (entries),
// and read by checker before and after the call.
#ifndef MESHMEM_TOOLS_RACES_CALL_HPP_
#define MESHMEM_TOOLS_RACES_CALL_HPP_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tools/interpose/routines.hpp"

namespace meshmem::races {

// For a collective with a count and a place for each PE of the team, in elements.
struct Counts {
  const std::size_t *nelems, *displs;
};

struct Call {
  tracing::Number number;
  std::string_view op;
  const void* caller;
  std::uint64_t dest, source, fetch, variables, lock, signal_address;
  std::int64_t dest_stride, source_stride;  // elements; 0: none
  std::size_t elements, blocks;             // elements of one block, and the number of blocks
  std::size_t element_bytes;
  Counts dest_counts, source_counts;
  std::uint64_t value;      // of a set or a signal
  std::uint64_t condition;  // of a compare-and-swap
  int signal_op;
  std::uint64_t context;
  long options;           // of a new context, whose place is `context`
  int pe;                 // of the world; of collectives the root in the team
  bool is_empty_request;  // of allocations: no collective
  std::uint64_t team_key;
  shmem_team_t team;
  int start, log_stride, size;  // of an active set; of others size 0
  std::uint64_t result;
  // Of collectives, set by begin(): its number among those of the team, and the PEs that call it,
  // since the team may be destroyed when the call ends.
  std::uint32_t number_in_team;
  std::vector<int> members;

  const tracing::Routine& what() const { return tracing::routine(number); }
};

// Called before and after the routine. They do nothing while no job is checked.
void begin(Call& call);
void end(Call& call);

}  // namespace meshmem::races

#endif  // MESHMEM_TOOLS_RACES_CALL_HPP_
