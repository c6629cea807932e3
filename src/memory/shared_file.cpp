// SPDX-License-Identifier: Apache-2.0
//
// The making and mapping of shared files. Invariant: a mapping begins where a huge page may, and what
// was reserved to find that place is given back.
#include "memory/shared_file.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cstdint>

#include "base/error.hpp"

namespace meshmem {

int make_shared_file(const char* name) {
  const int file = check(memfd_create(name, MFD_CLOEXEC), "make the shared memory of this node");
  check(fchmod(file, S_IRUSR | S_IWUSR), "protect the shared memory of this node");
  return file;
}

std::byte* map_shared_file(int file, std::size_t bytes) {
  // Reserve more than is needed, then put the file at the first aligned address.
  const std::size_t room = bytes + kRegionAlignment;
  void* reserved =
      mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return nullptr;
  auto start = reinterpret_cast<std::uintptr_t>(reserved);
  const std::uintptr_t aligned = round_up(start, kRegionAlignment);
  check(mmap(reinterpret_cast<void*>(aligned), bytes, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file, 0),
        "map the shared memory of this node");
  if (aligned > start) munmap(reserved, aligned - start);
  if (aligned + bytes < start + room)
    munmap(reinterpret_cast<void*>(aligned + bytes), start + room - aligned - bytes);
  // A core file of every PE's heap helps nobody.
  madvise(reinterpret_cast<void*>(aligned), bytes, MADV_DONTDUMP);
  return reinterpret_cast<std::byte*>(aligned);
}

}  // namespace meshmem
