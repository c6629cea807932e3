// SPDX-License-Identifier: Apache-2.0
//
// Makes and maps shared files. Invariant: a mapping begins where a huge page may begin. Address
// space that was reserved to find that place is given back.
#include "base/machine/shared_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>

#include "base/error.hpp"

namespace meshmem {

// Only memory files have all of these: an ordinary file has no seals, one of a tmpfs has the last.
static constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

int try_make_shared_file(const char* name, std::size_t bytes) {
  const int file = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) return -1;
  if (fchmod(file, S_IRUSR | S_IWUSR) == 0 && ftruncate(file, static_cast<off_t>(bytes)) == 0 &&
      fcntl(file, F_ADD_SEALS, kSeals) == 0)
    return file;
  const int error = errno;
  close(file);
  errno = error;
  return -1;
}

bool is_shared_file(int file) {
  const int seals = fcntl(file, F_GET_SEALS);
  return seals >= 0 && (seals & kSeals) == kSeals;
}

std::byte* map_shared_file(int file, std::size_t bytes, std::size_t own, std::size_t wanted) {
  // Reserve more than is needed, then put the file at the first aligned address. A limit on the
  // address space may leave room for less.
  std::size_t room = bytes + wanted;
  const auto reserve = [&room] {
    return mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  };
  void* reserved = reserve();
  while (reserved == MAP_FAILED && wanted > kRegionAlignment) {
    wanted /= 2;
    room = bytes + wanted;
    reserved = reserve();
  }
  if (reserved == MAP_FAILED) return nullptr;
  auto start = reinterpret_cast<std::uintptr_t>(reserved);
  const std::uintptr_t aligned = round_up(start + own, wanted) - own;
  check(mmap(reinterpret_cast<void*>(aligned), bytes, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file, 0),
        "map the shared memory of this node");
  if (aligned > start) munmap(reserved, aligned - start);
  if (aligned + bytes < start + room)
    munmap(reinterpret_cast<void*>(aligned + bytes), start + room - aligned - bytes);
  // Keep the memory out of core files: each PE's file would have the heaps of all PEs.
  madvise(reinterpret_cast<void*>(aligned), bytes, MADV_DONTDUMP);
  return reinterpret_cast<std::byte*>(aligned);
}

}  // namespace meshmem
