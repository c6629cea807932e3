// SPDX-License-Identifier: Apache-2.0
//
// Tells the memory checker that runs this program, if any, which bytes of a symmetric heap belong
// to a block. The checker then finds an access beside all blocks, with the place in the program.
// Invariant: the checker's memory grows with what has been allocated, not with the heap. The bytes
// far behind all blocks so far are not watched yet. Used by the heaps.
#ifndef MESHMEM_MEMORY_HEAP_WATCH_HPP_
#define MESHMEM_MEMORY_HEAP_WATCH_HPP_

#include <cstddef>
#include <map>

namespace meshmem {

// Bytes behind each block that belong to no block, in jobs with a memory checker: an access one
// past the end hits them. All PEs leave them, since all must get the same offsets.
inline constexpr std::size_t kRedZone = 16;

class HeapWatch {
 public:
  // `below`: bytes before the heap that belong to nobody.
  void open(std::byte* base, std::size_t bytes, std::size_t below);
  void close();  // no block is left

  void add(std::size_t offset, std::size_t bytes);
  void resize(std::size_t offset, std::size_t bytes);  // in place
  void remove(std::size_t offset);

 private:
  void watch_up_to(std::size_t end);

  std::byte* base_ = nullptr;  // null where nobody looks
  std::size_t bytes_ = 0;
  std::size_t watched_ = 0;                    // the first byte that has never been spoken of
  std::map<std::size_t, std::size_t> blocks_;  // bytes by offset
};

}  // namespace meshmem

#endif  // MESHMEM_MEMORY_HEAP_WATCH_HPP_
