// SPDX-License-Identifier: Apache-2.0
//
// Tells the memory checker that runs this program, if any, which bytes of a symmetric heap belong
// to a block. The checker then reports an access outside all blocks, with its place in the program.
// Invariant: the checker's memory grows with the allocated blocks, not with the heap: bytes far
// behind all blocks so far are not watched yet. Used by the heaps.
#ifndef MESHMEM_MEMORY_HEAP_WATCH_HPP_
#define MESHMEM_MEMORY_HEAP_WATCH_HPP_

#include <cstddef>
#include <map>

namespace meshmem {

// In jobs with a memory checker: bytes behind each block that belong to no block, so that an access
// past the end hits them. All PEs leave them, since all must get the same offsets.
inline constexpr std::size_t kRedZone = 16;

class HeapWatch {
 public:
  // `below`: bytes before the heap that belong to no block.
  void open(std::byte* base, std::size_t bytes, std::size_t below);
  void close();  // forbids all blocks that are left

  void add(std::size_t offset, std::size_t bytes);
  void resize(std::size_t offset, std::size_t bytes);  // in place
  void remove(std::size_t offset);

 private:
  void watch_up_to(std::size_t end);

  std::byte* base_ = nullptr;  // null: there is no memory checker, or the heap is closed
  std::size_t bytes_ = 0;
  std::size_t watched_ = 0;                    // end of the bytes that the checker knows
  std::map<std::size_t, std::size_t> blocks_;  // bytes by offset
};

}  // namespace meshmem

#endif  // MESHMEM_MEMORY_HEAP_WATCH_HPP_
