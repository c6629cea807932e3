// SPDX-License-Identifier: Apache-2.0
//
// The table that answers "where is everybody?": a line for each wait of each PE. PEs that wait for
// the same share a line.
// Invariant: comes to an end whatever others write to the board meanwhile.
// Called by the PE whose wait took too long, and by oshrun.
#ifndef MESHMEM_BASE_STATUS_STATUS_TABLE_HPP_
#define MESHMEM_BASE_STATUS_STATUS_TABLE_HPP_

#include <string>
#include <vector>

#include "base/status/status_board.hpp"

namespace meshmem {

// Several lines, without the newline of the last: "where the 4 PEs of heat are after 2.1 s:" and so
// on.
std::string status_table(const StatusBoard& board, std::uint64_t now_ns);
// The table of this moment, after all waits have been asked where the program has called. They
// mostly answer within a tenth of a second. The first look-up in a process reads the program's
// debug information, so PEs that share a core need that time for each. Takes at most ten seconds,
// and half a second if no PE looks.
std::string status_table_with_callers(const StatusBoard& board);

// "0..3,7", or with many gaps "0,2,4,6,8,10,12,14,... (40 PEs)"; the numbers ascend.
std::string pe_list(const std::vector<int>& pes);

}  // namespace meshmem

#endif  // MESHMEM_BASE_STATUS_STATUS_TABLE_HPP_
