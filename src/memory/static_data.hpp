// SPDX-License-Identifier: Apache-2.0
//
// The executable's global and static variables, which the standard makes symmetric. They are found
// in the program headers, and their pages are replaced by shared memory.
// Invariant: no variable changes its address or its value. Called by start-up, once a process.
#ifndef MESHMEM_MEMORY_STATIC_DATA_HPP_
#define MESHMEM_MEMORY_STATIC_DATA_HPP_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace meshmem {

struct PageRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

// The part of the executable that stays writable (so without its RELRO part), in whole pages. The
// pieces are within [begin, end); a linker may leave gaps between them.
struct StaticData {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::vector<PageRange> pieces;
  std::uint64_t fingerprint = 0;  // the same in PEs that run the same program
  std::size_t bytes() const { return end - begin; }
};

// Returns the static data of the executable; no pieces if it has none.
StaticData find_static_data();

// Copies the variables to `copy` (a mapping of `file` at `offset`, zero so far) and maps that part
// of the file over their old place. If another thread writes a global variable meanwhile, its write
// may be lost.
void move_to_shared_memory(const StaticData& data, int file, std::size_t offset, std::byte* copy);

// Returns the variables that the program has marked with SHMEMX_SAVED, which lie together. Empty:
// it has marked none. nullopt: the program's file cannot be read, or does not tell where they are.
std::optional<std::span<std::byte>> find_saved_variables();

}  // namespace meshmem

#endif  // MESHMEM_MEMORY_STATIC_DATA_HPP_
