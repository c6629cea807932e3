// SPDX-License-Identifier: Apache-2.0
//
// A symmetric heap of this PE, of host or of device memory: blocks at offsets that are the same in
// every PE, because all make the same calls.
// Invariant: the memory itself is not touched, and no communication here; the API adds the barriers
// that the standard asks for. A mutex keeps the book; the standard already demands one order of
// calls.
#ifndef MESHMEM_MEMORY_SYMMETRIC_HEAP_HPP_
#define MESHMEM_MEMORY_SYMMETRIC_HEAP_HPP_

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>

#include "memory/allocator.hpp"
#include "memory/heap_watch.hpp"

namespace meshmem {

class SymmetricHeap {
 public:
  // `name` and the variable that sets its size: for messages. `unit`: as OffsetAllocator's.
  SymmetricHeap(const char* name, const char* size_variable, std::size_t unit)
      : name_(name), size_variable_(size_variable), unit_(unit) {}

  // `alignment`: what base has, and that of every other PE. `gap` as OffsetAllocator's. `below`:
  // bytes before it that belong to nobody; none: memory that this process does not touch itself, so
  // that memory checkers need not know of it.
  void open(std::byte* base, std::size_t bytes, std::size_t alignment, std::size_t gap,
            std::optional<std::size_t> below);
  void put_in_core_file();  // what holds blocks of this PE; the rest of the arena stays out of it
  void give_back();         // its pages to the system; of host memory
  void close();
  bool holds(const void* block) const {
    const std::byte* address = static_cast<const std::byte*>(block);
    return allocator_ && address >= base_ && address < base_ + bytes_;
  }

  // nullptr if it does not fit, which is noted (failed_allocation.hpp).
  void* allocate(std::size_t bytes, std::size_t alignment, long hints, const char* routine);
  // A pointer that is not the start of a live block ends the job.
  void release(void* block, const char* routine);
  bool try_resize(void* block, std::size_t bytes, const char* routine);
  std::size_t size_of(void* block, const char* routine);
  long hints_of(void* block);
  struct Block {
    std::byte* address;
    std::size_t bytes;  // as asked for
  };
  std::optional<Block> block_at(
      const void* address);  // an address of the heap; nullopt: not allocated

 private:
  std::size_t offset_of(void* block) const {
    return static_cast<std::size_t>(static_cast<std::byte*>(block) - base_);
  }
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
