// SPDX-License-Identifier: Apache-2.0
//
// Memory that the PEs of a node share: a file without a name, which one of them makes and each maps
// once.
// Invariant: the memory goes when the last process that maps it ends, however it ends. A page
// exists only once it is touched. Used for the arena, and for the device slabs of the cpu target.
#ifndef MESHMEM_BASE_MACHINE_SHARED_FILE_HPP_
#define MESHMEM_BASE_MACHINE_SHARED_FILE_HPP_

#include <bit>
#include <cstddef>
#include <cstdint>

namespace meshmem {

// The size of a huge page. The parts of the PEs in the file, and with them the heaps, begin at
// multiples of it in memory.
inline constexpr std::size_t kRegionAlignment = std::size_t{2} << 20;

// The size of the largest pages, which 64-bit Arm may have. A part of a file that is mapped on its
// own begins at a multiple of it, so the layout of files does not depend on the size of pages.
inline constexpr std::size_t kLargestPage = std::size_t{64} << 10;

// The least multiple of `unit` that is not below `bytes`.
inline std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// The descriptor of a file that only its user may open and whose size cannot change any more; -1
// and errno if the machine does not grant it.
int try_make_shared_file(const char* name, std::size_t bytes);

// Whether `file` is such a file, made by any process.
bool is_shared_file(int file);

// Maps the whole file at a multiple of kRegionAlignment. `own`, such a multiple too, is where the
// part begins that gets the best alignment for which there is address space, up to `wanted`, a
// power of two. nullptr and errno if there is no address space.
std::byte* map_shared_file(int file, std::size_t bytes, std::size_t own = 0,
                           std::size_t wanted = kRegionAlignment);

// The alignment, a power of two, that a heap of `heap_bytes` should have. Blocks in it can be
// aligned to as much.
inline std::size_t wanted_heap_alignment(std::size_t heap_bytes) {
  return heap_bytes > kRegionAlignment ? std::bit_floor(heap_bytes) : kRegionAlignment;
}
// The greatest power of two that the address is a multiple of; 0 for a null pointer.
inline std::size_t alignment_of(const std::byte* address) {
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  return number & (0 - number);
}

}  // namespace meshmem

#endif  // MESHMEM_BASE_MACHINE_SHARED_FILE_HPP_
