// SPDX-License-Identifier: Apache-2.0
//
// Work on a PE's part of the board that is in this node's memory, for PEs of any node. It adds
// accesses, and reads the writes and clocks that are noted there.
// Invariant: each function takes the mutex of the part, or locks of its cells, one at a time. It
// waits for nothing else. Called by boards.
#ifndef MESHMEM_TOOLS_RACES_PARTS_HPP_
#define MESHMEM_TOOLS_RACES_PARTS_HPP_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "tools/races/board.hpp"
#include "tools/races/shadow.hpp"

namespace meshmem::races {

// When a PE, or one of its strands, had the clock that is asked for.
struct Moment {
  enum class When : std::uint32_t {
    version,     // the strand with its version of this number, or with the newest if that is gone
    collective,  // when it began this collective of the team, or now if that is long ago
    now          // with all its calls that have begun
  };
  When when = When::now;
  std::uint32_t number = 0;
  std::uint32_t strand = 0;
  std::uint64_t team = 0;
};

struct Seen {
  std::vector<Access> writes;
  bool is_known;  // false: somebody may have written who is not among them
};

// Adds the access to the shadow of `pe`. Returns an access that it races with. has_told: the PE may
// see the write by loads of its own.
std::optional<Access> add_to_part(const Board& board, int pe, const Range& range,
                                  const Access& access, bool has_told, const Clock& known);
// The second half of add_to_part(), for an access that is in the shadow already. Returns an access
// in the PE's ledger that it races with.
std::optional<Access> meet_ledger(const Board& board, const Shadow& shadow, const Range& range,
                                  const Access& access, const Clock& known);
// The writes by others that `me` sees in the range.
Seen see_in_part(const Board& board, int pe, const Range& range, const Worker& me);
// Calls use(i, number) for each number that the PE had in its clock at this moment.
using UseNumber = std::function<void(std::size_t, std::uint32_t)>;
void read_clock_of_part(const Board& board, int pe, const Moment& moment, const UseNumber& use);
// How many numbers the clocks of this PE have.
std::size_t count_numbers(const Board& board, int pe);
// True if this pair of call sites is new, and there was room to note it. Counts the race, and a new
// pair.
bool add_pair(Head& head, std::uint64_t pair);
// Notes that some PE writes in ways that the checker does not see; orders: also that it orders
// accesses in such ways.
void note_unseen_in(Head& head, bool orders);

}  // namespace meshmem::races

#endif  // MESHMEM_TOOLS_RACES_PARTS_HPP_
