// SPDX-License-Identifier: Apache-2.0
//
// Memory of this PE that is not symmetric and that nonblocking calls still read or write: sources
// of puts, dests of gets and of fetches.
// Invariant: only the newest are known, so forgetting hides races, and makes none. The caller holds
// the checker's mutex, but for may_be_buffer().
#ifndef MESHMEM_TOOLS_RACES_BUFFERS_HPP_
#define MESHMEM_TOOLS_RACES_BUFFERS_HPP_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tools/races/board.hpp"

namespace meshmem::races {

// False: nothing there is under way.
bool may_be_buffer(std::uint64_t address, std::size_t bytes);
// A call under way that this access races with.
std::optional<Access> find_buffer(std::uint64_t address, std::size_t bytes, const Access& access);
void add_buffer(std::uint64_t address, std::size_t bytes, const Access& access);
void forget_done_buffers();
void forget_buffers();

}  // namespace meshmem::races

#endif  // MESHMEM_TOOLS_RACES_BUFFERS_HPP_
