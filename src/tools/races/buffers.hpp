// SPDX-License-Identifier: Apache-2.0
//
// Buffers: memory of this PE that is not symmetric and that nonblocking calls still read or write,
// as sources of puts, and dests of gets and fetches. While the PE has several strands, the buffers
// of blocking calls and of calls that are done are noted too, since another strand may not know
// that they are done.
// Invariant: only the newest buffers are noted. This may hide races and invents none. The caller
// holds the checker's mutex, except for may_be_buffer().
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

// False: no buffer is there. Inline, since each load and store of the program calls this.
[[gnu::always_inline]] inline bool may_be_buffer(std::uint64_t address, std::size_t bytes) {
  return address < bounds_of_buffers.end.load(std::memory_order_relaxed) &&
         bounds_of_buffers.begin.load(std::memory_order_relaxed) < address + bytes;
}
// Returns a call's access to a buffer that this access races with.
std::optional<Access> find_buffer(std::uint64_t address, std::size_t bytes, const Access& access);
void add_buffer(std::uint64_t address, std::size_t bytes, const Access& access);
void forget_done_buffers();  // not while there are several strands
void forget_buffers_here(std::uint64_t begin, std::uint64_t end);  // of this thread
void forget_buffers();
// Tells the ledger between which addresses it must report accesses: those of the buffers, and all
// addresses while there are several strands.
void note_bounds();

}  // namespace meshmem::races

#endif  // MESHMEM_TOOLS_RACES_BUFFERS_HPP_
