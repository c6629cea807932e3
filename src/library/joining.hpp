// SPDX-License-Identifier: Apache-2.0
//
// A team of PEs that do not know each other, only an id that they share. Each says in a word of its
// control segment which id it joins at which place. Then it reads the words of the other PEs until
// it knows all members in order.
// Invariant: a PE takes its word back when all members know each other.
#ifndef MESHMEM_LIBRARY_JOINING_HPP_
#define MESHMEM_LIBRARY_JOINING_HPP_

#include <shmem.h>

#include <cstdint>

namespace meshmem {

// A word has the number of the PE in the team, plus one, below the id.
inline constexpr int kJoiningPlaceBits = 20;
inline constexpr std::uint64_t kMaxJoiningId = (std::uint64_t{1} << (64 - kJoiningPlaceBits)) - 1;

struct Joining {
  std::uint64_t id;  // 1 to kMaxJoiningId
  int n_pes;         // of the new team
  int me;            // in the new team
};

// Collective over the PEs that join. A PE has one word, so its threads join one after another, and
// all PEs must join their teams in one order. Returns as make_team_of_pes(), but ends the job if it
// has no room for another list of PEs.
int join_team(const Joining& joining, const char* routine, shmem_team_t* made);

}  // namespace meshmem

#endif  // MESHMEM_LIBRARY_JOINING_HPP_
