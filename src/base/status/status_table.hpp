// SPDX-License-Identifier: Apache-2.0
//
// The table that answers "where is everybody?": a line for each wait of each PE. PEs that wait for
// the same share a line.
// Invariant: only reads the board, and comes to an end whatever others write there meanwhile.
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

// "0..3,7", or with many gaps "0,2,4,6,8,10,12,14,... (40 PEs)"; the numbers ascend.
std::string pe_list(const std::vector<int>& pes);

}  // namespace meshmem

#endif  // MESHMEM_BASE_STATUS_STATUS_TABLE_HPP_
