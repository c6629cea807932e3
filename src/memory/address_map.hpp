// SPDX-License-Identifier: Apache-2.0
//
// Translates a symmetric address of this PE into the address of a peer's copy. Every put, get and
// atomic does this first. Fast paths look only in the host heap and static data, which the
// processor reaches by loads and stores. Only kernels and copy engines reach device memory.
// Invariant: a segment has the same length and layout in every PE, so an offset in this PE's copy
// is valid in all others. The map is filled at start-up. While the library is not initialized it is
// empty: no PE is in range.
#ifndef MESHMEM_MEMORY_ADDRESS_MAP_HPP_
#define MESHMEM_MEMORY_ADDRESS_MAP_HPP_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "gpu/device_segments.hpp"

namespace meshmem {

// Stands for the copy of a far PE, which is not mapped here. It stays negative with any offset
// added, and no address of a program is negative.
inline std::byte* const kFar = reinterpret_cast<std::byte*>(INTPTR_MIN);
[[gnu::always_inline]] inline bool is_mapped(const std::byte* copy) {
  return reinterpret_cast<std::intptr_t>(copy) >= 0;
}

// A symmetric range of this PE's addresses, and for each PE the address at which its copy is mapped
// here, or kFar.
struct Segment {
  std::uintptr_t base = 0;
  std::size_t bytes = 0;
  std::byte* const* copy_of_pe = nullptr;
  // 2^i bytes fit into the segment at each offset below room[i].
  std::size_t room[4] = {};

  constexpr Segment() = default;
  Segment(std::uintptr_t its_base, std::size_t its_bytes, std::byte* const* copies)
      : base(its_base), bytes(its_bytes), copy_of_pe(copies) {
    for (int log = 0; log < 4; ++log) room[log] = room_for(std::size_t{1} << log);
  }
  std::size_t room_for(std::size_t size) const { return bytes >= size ? bytes - size + 1 : 0; }

  // True if `size` bytes at `offset` are within the segment.
  [[gnu::always_inline]] bool has(std::uintptr_t offset, std::size_t size) const {
    if (__builtin_constant_p(size) && std::has_single_bit(size) && size <= 8)
      return offset < room[std::countr_zero(size)];
    if (offset >= bytes) return false;
    asm("" : "+r"(offset));  // else compilers compute (base + bytes) - address: one more step
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
// The same, for the fast paths of puts, gets, atomics and waits. Under MESHMEM_CHECK it lacks the
// heap. So they call find_in_block (argument_checks.hpp) or one_sided.hpp, which check that the
// bytes are within one allocated block.
extern constinit AddressMap direct_map;

// End the job with a line that says why an address or a PE is invalid. `routine`: the API's name.
// `argument`: the standard's name for the address, if the routine has several.
[[noreturn, gnu::cold, gnu::noinline]] void refuse_pe(const AddressMap& map, int pe,
                                                      const char* routine);
[[noreturn, gnu::cold, gnu::noinline]] void refuse_address(const AddressMap& map,
                                                           const void* address, std::size_t bytes,
                                                           const char* routine,
                                                           const char* argument = nullptr);

// Returns where PE `pe`'s copy of the `bytes` bytes at `address` is mapped here. The result is not
// is_mapped() if the bytes are not within one segment, or the PE is far.
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

// True if the bytes are in symmetric host memory.
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
// Collectives choose their executor by this. For symmetric addresses all members get the same
// answer.
template <typename... Pointers>
inline bool any_on_device(Pointers... addresses) {
  return (is_on_device(addresses) || ...);
}

// True if the bytes are in symmetric host or device memory.
inline bool is_symmetric(const AddressMap& map, const void* address, std::size_t bytes) {
  return is_in_segment(map, address, bytes) ||
         device_segments().find(address, bytes, map.my_pe).has_value();
}

// Where PE `pe`'s copy is in device memory, for a caller that has found no host segment. Ends the
// job if the address is not symmetric, or if this PE's device cannot reach that memory.
DevicePlace translate_on_device(const AddressMap& map, const void* address, std::size_t bytes,
                                int pe, const char* routine);

// Returns where a near PE's copy is mapped here. An invalid PE or address ends the job.
[[gnu::always_inline]] inline std::byte* translate(const AddressMap& map, const void* address,
                                                   std::size_t bytes, int pe, const char* routine) {
  check_pe(map, pe, routine);
  std::byte* there = find_copy(map, address, bytes, pe);
  if (!is_mapped(there)) [[unlikely]]
    refuse_address(map, address, bytes, routine);
  return there;
}

// The text for an address in messages: "0x7f2a40000040 (heap + 0x40)". The part in parentheses is
// the same on all PEs, and is missing if the address is not symmetric.
std::string place_text(const AddressMap& map, const void* address);

}  // namespace meshmem

#endif  // MESHMEM_MEMORY_ADDRESS_MAP_HPP_
