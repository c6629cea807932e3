// SPDX-License-Identifier: Apache-2.0
//
// Where a symmetric address of this PE lies in a peer's memory: the arithmetic that every put, get
// and atomic does first.
// Two kinds of segment: what the processor reaches by loads and stores (the host heap, static data),
// which the hot paths ask for, and device memory, where only kernels and copy engines go.
// Invariant: a segment has the same length and layout in every PE, so an offset found in one's own
// copy is right in every other. Filled at start-up, empty (no PE is in range) while the library is
// not initialized.
#ifndef MESHMEM_MEMORY_ADDRESS_MAP_HPP_
#define MESHMEM_MEMORY_ADDRESS_MAP_HPP_

#include <cstddef>
#include <cstdint>

#include "gpu/device_segments.hpp"

namespace meshmem {

// A range of this PE's addresses that is symmetric, and where each PE's copy of it is mapped here.
struct Segment {
  std::uintptr_t base = 0;
  std::size_t bytes = 0;
  std::byte* const* copy_of_pe = nullptr;
};

struct AddressMap {
  unsigned n_pes = 0;
  int my_pe = -1;
  Segment heap;
  Segment statics;
};

extern constinit AddressMap address_map;
// What puts, gets, atomics and waits may access without another look: the same, but under
// MESHMEM_CHECK without the heap, so that they come to find_in_block (room.hpp) or to one_sided.hpp.
extern constinit AddressMap direct_map;

// The reasons to refuse an address or a PE, told in one line that ends the job. `routine` is the
// API's name.
[[noreturn, gnu::cold, gnu::noinline]] void refuse_pe(const AddressMap& map, int pe,
                                                      const char* routine);
[[noreturn, gnu::cold, gnu::noinline]] void refuse_address(const AddressMap& map,
                                                           const void* address, std::size_t bytes,
                                                           const char* routine);

// Where `bytes` bytes at `address` of this PE are in PE `pe`, mapped here; nullptr if they are not
// within one segment.
[[gnu::always_inline]] inline std::byte* try_translate(const Segment& segment, const void* address,
                                                       std::size_t bytes, int pe) {
  std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(address) - segment.base;
  if (offset >= segment.bytes) return nullptr;
  asm("" : "+r"(offset));  // or compilers subtract the address from the segment's end, in two steps
  if (bytes > segment.bytes - offset) return nullptr;
  std::byte* there = segment.copy_of_pe[static_cast<unsigned>(pe)] + offset;
  if (!there) __builtin_unreachable();  // so that callers' tests for nullptr are of the above alone
  return there;
}
[[gnu::always_inline]] inline std::byte* try_translate(const AddressMap& map, const void* address,
                                                       std::size_t bytes, int pe) {
  std::byte* in_heap = try_translate(map.heap, address, bytes, pe);
  return in_heap ? in_heap : try_translate(map.statics, address, bytes, pe);
}

[[gnu::always_inline]] inline void check_pe(const AddressMap& map, int pe, const char* routine) {
  if (static_cast<unsigned>(pe) >= map.n_pes) [[unlikely]]
    refuse_pe(map, pe, routine);
}

inline bool is_on_device(const void* address) {
  return may_be_on_device(address) && device_segments().holds(address);
}
// For collectives, which all members must run in the same way.
template <typename... Pointers>
inline bool any_on_device(Pointers... addresses) {
  return (is_on_device(addresses) || ...);
}

// The bytes are in host or device memory that all PEs have a copy of.
inline bool is_symmetric(const AddressMap& map, const void* address, std::size_t bytes) {
  return try_translate(map, address, bytes, map.my_pe) ||
         device_segments().find(address, bytes, map.my_pe).has_value();
}

// Where the copy of PE `pe` is, for a caller who has found no host segment. A bad address ends the
// job, and so does device memory that no way leads to.
DevicePlace translate_on_device(const AddressMap& map, const void* address, std::size_t bytes,
                                int pe, const char* routine);

// The same for a caller who must be right; a bad PE or address ends the job.
[[gnu::always_inline]] inline std::byte* translate(const AddressMap& map, const void* address,
                                                   std::size_t bytes, int pe, const char* routine) {
  check_pe(map, pe, routine);
  std::byte* there = try_translate(map, address, bytes, pe);
  if (!there) [[unlikely]]
    refuse_address(map, address, bytes, routine);
  return there;
}

}  // namespace meshmem

#endif  // MESHMEM_MEMORY_ADDRESS_MAP_HPP_
