// SPDX-License-Identifier: Apache-2.0
//
// The slow parts of the checks in argument_checks.hpp.
// Invariant: only cold code here.
#include "memory/argument_checks.hpp"

#include <string>

#include "base/code_place.hpp"
#include "base/error.hpp"
#include "memory/symmetric_heap.hpp"

namespace meshmem {
namespace {

SymmetricHeap* watched_heaps[2] = {};

bool blocks_are_watched() { return watched_heaps[0] != nullptr; }

}  // namespace

void refuse_count(const char* routine, std::size_t count, std::size_t elem_bytes) {
  const auto as_signed = static_cast<std::ptrdiff_t>(count);
  fatal("{}: a count of {}{}, in elements of {} bytes, is more than any memory has", routine, count,
        as_signed < 0 ? fmt::format(" ({}?)", as_signed) : "", elem_bytes);
}

void refuse_stride(const char* routine, const char* name, std::ptrdiff_t stride,
                   std::size_t count) {
  if (stride < 0)
    fatal("{}: {} is {}; strides in symmetric memory cannot be negative", routine, name, stride);
  fatal("{}: {} elements or blocks, {} elements apart ({}), are more than any memory has", routine,
        count, stride, name);
}

void refuse_unaligned(const char* routine, const void* address, std::size_t bytes) {
  allow_variable_names();
  fatal("{}: {} is not aligned: its address has to be a multiple of {}", routine,
        place_text(address_map, address), bytes);
}

void check_rare(const char* routine, const char* argument, const void* address, std::size_t bytes) {
  if (!is_symmetric(address_map, address, bytes))
    refuse_address(address_map, address, bytes, routine, argument);
  check_block(routine, address, bytes);
}

void watch_blocks(SymmetricHeap* host_heap, SymmetricHeap* device_heap) {
  watched_heaps[0] = host_heap;
  watched_heaps[1] = device_heap;
  direct_map = address_map;
  if (host_heap) direct_map.heap = {};
}

void check_block(const char* routine, const void* address, std::size_t bytes) {
  if (!blocks_are_watched() || bytes == 0) return;
  if (static_cast<std::ptrdiff_t>(bytes) < 0) refuse_address(address_map, address, bytes, routine);
  for (SymmetricHeap* heap : watched_heaps) {
    if (!heap->holds(address)) continue;
    const auto block = heap->block_at(address);
    if (!block) {
      fatal(
          "{}: {} bytes at {} are in no block of the symmetric heap (freed already, or never "
          "allocated)",
          routine, bytes, place_text(address_map, address));
    }
    const auto before =
        static_cast<std::size_t>(static_cast<const std::byte*>(address) - block->address);
    if (before <= block->bytes && bytes <= block->bytes - before) continue;
    fatal("{}: {} bytes at {} reach {} bytes past the end of their block, {} bytes at {}", routine,
          bytes, place_text(address_map, address), before + bytes - block->bytes, block->bytes,
          static_cast<const void*>(block->address));
  }
}

std::byte* find_in_block(const char* routine, const void* address, std::size_t bytes, int pe) {
  if (!blocks_are_watched()) return kFar;
  std::byte* there = find_copy(address_map, address, bytes, pe);
  if (is_mapped(there)) check_block(routine, address, bytes);
  return there;
}

}  // namespace meshmem
