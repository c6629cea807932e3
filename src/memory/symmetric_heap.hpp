// SPDX-License-Identifier: Apache-2.0
//
// A symmetric heap of this PE, of host or device memory. A block has the same offset in all PEs,
// because all make the same calls in the same order.
// Invariant: it neither touches the memory nor communicates; the API adds the barriers that the
// standard demands. A mutex guards its state.
#ifndef MESHMEM_MEMORY_SYMMETRIC_HEAP_HPP_
#define MESHMEM_MEMORY_SYMMETRIC_HEAP_HPP_

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "memory/allocator.hpp"
#include "memory/heap_watch.hpp"

namespace meshmem {

class SymmetricHeap {
 public:
  // `name`, and the variable that sets its size, are for messages. `unit`: see OffsetAllocator.
  SymmetricHeap(const char* name, const char* size_variable, std::size_t unit)
      : name_(name), size_variable_(size_variable), unit_(unit) {}

  // `alignment`: what base has in all PEs. `gap`: see OffsetAllocator. `below`: bytes
  // before the heap that belong to no block; nullopt: this process does not access the heap's
  // memory itself, so memory checkers do not watch it.
  void open(std::byte* base, std::size_t bytes, std::size_t alignment, std::size_t gap,
            std::optional<std::size_t> below);
  void put_in_core_file();  // only the part with blocks; the rest of the arena stays out
  void return_pages();      // to the system; for host memory only
  void close();
  bool holds(const void* block) const {
    const std::byte* address = static_cast<const std::byte*>(block);
    return allocator_ && address >= base_ && address < base_ + bytes_;
  }

  std::size_t offset_of(const void* block) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(block) - base_);
  }

  // Returns nullptr if the block does not fit, and notes the reason (failed_allocation.hpp).
  void* allocate(std::size_t bytes, std::size_t alignment, long hints, const char* routine);
  // In these three, a pointer that is not the start of a live block ends the job. try_resize()
  // returns false if the block cannot have the new size where it is.
  void release(void* block, const char* routine);
  bool try_resize(void* block, std::size_t bytes, const char* routine);
  std::size_t size_of(void* block, const char* routine);
  long hints_of(void* block);  // 0 if it is not a live block
  struct Block {
    std::byte* address;
    std::size_t bytes;  // as requested
  };
  // The live block around an address of the heap; nullopt: none.
  std::optional<Block> block_at(const void* address);
  // All live blocks, in the order of their addresses; none if the heap is not open.
  std::vector<Block> blocks();

 private:
  std::string why_not(std::size_t alignment) const;
  [[noreturn]] void refuse(void* block, const char* routine) const;

  const char* name_;
  const char* size_variable_;
  std::size_t unit_;
  std::mutex mutex_;
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t alignment_ = 0;
  std::optional<OffsetAllocator> allocator_;
  HeapWatch watch_;
};

}  // namespace meshmem

#endif  // MESHMEM_MEMORY_SYMMETRIC_HEAP_HPP_
