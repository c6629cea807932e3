// SPDX-License-Identifier: Apache-2.0
//
// Memory of this PE that is not symmetric and that nonblocking calls still read or write: sources
// of puts, dests of gets and of fetches. While the PE has several strands, also of other calls and
// of those that are done: another strand may not know.
// Invariant: only the newest are known, so forgetting hides races, and makes none. The caller holds
// the checker's mutex, but for may_be_buffer().
#ifndef MESHMEM_TOOLS_RACES_BUFFERS_HPP_
#define MESHMEM_TOOLS_RACES_BUFFERS_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "tools/races/board.hpp"

namespace meshmem::races {

// From the first byte of any buffer to behind the last.
struct Bounds {
  std::atomic<std::uint64_t> begin{UINT64_MAX}, end{0};
};
inline constinit Bounds bounds_of_buffers;

// False: nothing there is under way. Inline, since each load and store of the program asks.
[[gnu::always_inline]] inline bool may_be_buffer(std::uint64_t address, std::size_t bytes) {
  return address < bounds_of_buffers.end.load(std::memory_order_relaxed) &&
         bounds_of_buffers.begin.load(std::memory_order_relaxed) < address + bytes;
}
// A call that this access races with.
std::optional<Access> find_buffer(std::uint64_t address, std::size_t bytes, const Access& access);
void add_buffer(std::uint64_t address, std::size_t bytes, const Access& access);
void forget_done_buffers();  // not while there are several strands
void forget_buffers_here(std::uint64_t begin, std::uint64_t end);  // of this thread
void forget_buffers();
// While there are several strands, all accesses have to be looked at (ledger).
void note_bounds();

}  // namespace meshmem::races

#endif  // MESHMEM_TOOLS_RACES_BUFFERS_HPP_
