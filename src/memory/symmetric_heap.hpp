// SPDX-License-Identifier: Apache-2.0
//
// The symmetric heap of this PE: blocks at offsets that are the same in every PE, because all make
// the same calls.
// Invariant: no communication here; the API adds the barriers that the standard asks for. A mutex
// keeps the book; the standard already demands one order of calls.
#ifndef MESHMEM_MEMORY_SYMMETRIC_HEAP_HPP_
#define MESHMEM_MEMORY_SYMMETRIC_HEAP_HPP_

#include <cstddef>
#include <mutex>
#include <optional>

#include "memory/allocator.hpp"

namespace meshmem {

class SymmetricHeap {
 public:
  void open(std::byte* base, std::size_t bytes);
  void close();  // gives the memory back to the system

  // nullptr if it does not fit; with SHMEM_DEBUG a line says why.
  void* allocate(std::size_t bytes, std::size_t alignment, long hints, const char* routine);
  // A pointer that is not the start of a live block ends the job.
  void release(void* block, const char* routine);
  bool try_resize(void* block, std::size_t bytes, const char* routine);
  std::size_t size_of(void* block, const char* routine);
  long hints_of(void* block);
  std::uint64_t history();

 private:
  std::size_t offset_of(void* block) const {
    return static_cast<std::size_t>(static_cast<std::byte*>(block) - base_);
  }
  [[noreturn]] void refuse(void* block, const char* routine) const;

  std::mutex mutex_;
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
  std::optional<OffsetAllocator> allocator_;
};

}  // namespace meshmem

#endif  // MESHMEM_MEMORY_SYMMETRIC_HEAP_HPP_
