// SPDX-License-Identifier: Apache-2.0
//
// The board and this PE's part of it, for the files of this folder.
// Invariant: the board is there before own_place() returns anything but nullptr.
#ifndef MESHMEM_BASE_STATUS_OWN_PLACE_HPP_
#define MESHMEM_BASE_STATUS_OWN_PLACE_HPP_

#include "base/status/status_board.hpp"

namespace meshmem {

PeStatus* own_place();  // nullptr: there is no board
const StatusBoard& own_board();

}  // namespace meshmem

#endif  // MESHMEM_BASE_STATUS_OWN_PLACE_HPP_
