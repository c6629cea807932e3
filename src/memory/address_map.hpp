// SPDX-License-Identifier: Apache-2.0
//
// Where a symmetric address of this PE lies in a peer's memory: the arithmetic that every put, get
// and atomic does first. There are two kinds of segment. The processor reaches the host heap and
// static data by loads and stores, and the hot paths ask for these. Only kernels and copy engines
// reach device memory.
// Invariant: a segment has the same length and layout in every PE, so an offset found in one's own
// copy is right in every other. Filled at start-up, empty (no PE is in range) while the library is
// not initialized.
#ifndef MESHMEM_MEMORY_ADDRESS_MAP_HPP_
#define MESHMEM_MEMORY_ADDRESS_MAP_HPP_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "gpu/device_segments.hpp"

namespace meshmem {

// In place of the copy of a far PE, which is not mapped here: with any offset added it stays
// negative, as no address of a program is.
inline std::byte* const kFar = reinterpret_cast<std::byte*>(INTPTR_MIN);
[[gnu::always_inline]] inline bool is_mapped(const std::byte* copy) {
  return reinterpret_cast<std::intptr_t>(copy) >= 0;
}

// A range of this PE's addresses that is symmetric, and where each PE's copy of it is mapped here,
// or kFar.
struct Segment {
  std::uintptr_t base = 0;
  std::size_t bytes = 0;
  std::byte* const* copy_of_pe = nullptr;
  // Offsets from 0 on at which 1, 2, 4 and 8 bytes begin that end in the segment.
  std::size_t room[4] = {};

  constexpr Segment() = default;
  Segment(std::uintptr_t its_base, std::size_t its_bytes, std::byte* const* copies)
      : base(its_base), bytes(its_bytes), copy_of_pe(copies) {
    for (int log = 0; log < 4; ++log) room[log] = room_for(std::size_t{1} << log);
  }
  std::size_t room_for(std::size_t size) const { return bytes >= size ? bytes - size + 1 : 0; }

  // Whether `size` bytes that begin at `offset` end in the segment.
  [[gnu::always_inline]] bool has(std::uintptr_t offset, std::size_t size) const {
    if (__builtin_constant_p(size) && std::has_single_bit(size) && size <= 8)
      return offset < room[std::countr_zero(size)];
    if (offset >= bytes) return false;
    asm("" : "+r"(offset));  // or compilers subtract the address from the end, in two steps
    return size <= bytes - offset;
  }
  bool holds(const void* address, std::size_t size) const {
    return has(reinterpret_cast<std::uintptr_t>(address) - base, size);
  }
};

struct AddressMap {
  unsigned n_pes = 0;
  int my_pe = -1;
  Segment heap;
  Segment statics;
};

extern constinit AddressMap address_map;
// The memory that puts, gets, atomics and waits may access without another look: the same, but
// under MESHMEM_CHECK without the heap, so that they come to find_in_block (argument_checks.hpp) or
// to one_sided.hpp.
extern constinit AddressMap direct_map;

// The reasons to refuse an address or a PE, told in one line that ends the job. `routine` is the
// API's name, `argument` the standard's for the address, where the routine has several.
[[noreturn, gnu::cold, gnu::noinline]] void refuse_pe(const AddressMap& map, int pe,
                                                      const char* routine);
[[noreturn, gnu::cold, gnu::noinline]] void refuse_address(const AddressMap& map,
                                                           const void* address, std::size_t bytes,
                                                           const char* routine,
                                                           const char* argument = nullptr);

// Where `bytes` bytes at `address` of this PE are in PE `pe`, mapped here. Not is_mapped() if they
// are not within one segment, or the PE is far.
[[gnu::always_inline]] inline std::byte* find_copy(const AddressMap& map, const void* address,
                                                   std::size_t bytes, int pe) {
  const auto copy = [pe](const Segment& segment, std::uintptr_t offset) {
    const auto begin =
        reinterpret_cast<std::uintptr_t>(segment.copy_of_pe[static_cast<unsigned>(pe)]);
    return reinterpret_cast<std::byte*>(begin + offset);
  };
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (map.heap.has(at - map.heap.base, bytes)) return copy(map.heap, at - map.heap.base);
  if (map.statics.has(at - map.statics.base, bytes))
    return copy(map.statics, at - map.statics.base);
  return kFar;
}

// In host memory that all PEs have a copy of.
inline bool is_in_segment(const AddressMap& map, const void* address, std::size_t bytes) {
  return map.heap.holds(address, bytes) || map.statics.holds(address, bytes);
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
  return is_in_segment(map, address, bytes) ||
         device_segments().find(address, bytes, map.my_pe).has_value();
}

// Where the copy of PE `pe` is, for a caller who has found no host segment. A bad address ends the
// job, and so does device memory that no way leads to.
DevicePlace translate_on_device(const AddressMap& map, const void* address, std::size_t bytes,
                                int pe, const char* routine);

// Where the copy of a near PE is, for a caller who must be right; a bad PE or address ends the job.
[[gnu::always_inline]] inline std::byte* translate(const AddressMap& map, const void* address,
                                                   std::size_t bytes, int pe, const char* routine) {
  check_pe(map, pe, routine);
  std::byte* there = find_copy(map, address, bytes, pe);
  if (!is_mapped(there)) [[unlikely]]
    refuse_address(map, address, bytes, routine);
  return there;
}

// A symmetric address as messages name it, by what is the same in all PEs: "0x7f2a40000040 (heap +
// 0x40)". The address alone where it is not symmetric.
std::string place_text(const AddressMap& map, const void* address);

}  // namespace meshmem

#endif  // MESHMEM_MEMORY_ADDRESS_MAP_HPP_
