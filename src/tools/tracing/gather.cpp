// SPDX-License-Identifier: Apache-2.0
//
// PE 0 asks for one block after the other; a PE serves until it is told that this was the last.
#include "tools/tracing/gather.hpp"

#include <fcntl.h>
#include <pshmem.h>
#include <pshmemx.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace meshmem::tracing {
namespace {

constexpr std::size_t kLargestBlock = 256 << 10, kSmallestBlock = 4 << 10;
constexpr std::uint64_t kEnd = UINT64_MAX;

struct Desk {
  std::uint64_t bytes;    // of this PE's part
  std::uint64_t request;  // 1 + the block that PE 0 wants, or kEnd
  std::uint64_t ready;    // in PE 0: 1 + the block that is there
};

// The block follows the desk.
struct Room {
  Desk* desk = nullptr;
  std::size_t block_bytes = 0;
  std::byte* block() const { return reinterpret_cast<std::byte*>(desk + 1); }
};

// All PEs get the same, or none.
Room take_room() {
  for (std::size_t bytes = kLargestBlock; bytes >= kSmallestBlock; bytes /= 2)
    if (void* at = pshmem_malloc_with_hints(sizeof(Desk) + bytes, SHMEMX_MALLOC_HOST))
      return {static_cast<Desk*>(at), bytes};
  return {};
}

void serve(const Room& room, int fd) {
  for (std::uint64_t served = 0;;) {
    pshmem_uint64_wait_until(&room.desk->request, SHMEM_CMP_NE, served);
    served = pshmem_uint64_atomic_fetch(&room.desk->request, pshmem_my_pe());
    if (served == kEnd) return;
    const std::size_t begin = (served - 1) * room.block_bytes;
    if (pread(fd, room.block(), room.block_bytes, static_cast<off_t>(begin)) < 0)
      std::memset(room.block(), 0, room.block_bytes);
    pshmem_quiet();
    pshmem_uint64_atomic_set(&room.desk->ready, served, 0);
  }
}

PartCopy fetch(const Room& room, int pe, const std::string& folder) {
  const std::size_t bytes = pshmem_uint64_g(&room.desk->bytes, pe);
  PartCopy copy = PartCopy::of_bytes(bytes, folder);
  const std::span<std::byte> to = copy.bytes();
  room.desk->ready = 0;
  for (std::size_t begin = 0; begin < to.size(); begin += room.block_bytes) {
    const std::uint64_t request = 1 + begin / room.block_bytes;
    pshmem_uint64_atomic_set(&room.desk->request, request, pe);
    pshmem_uint64_wait_until(&room.desk->ready, SHMEM_CMP_EQ, request);
    pshmem_getmem(to.data() + begin, room.block(), std::min(room.block_bytes, to.size() - begin),
                  pe);
  }
  pshmem_uint64_atomic_set(&room.desk->request, kEnd, pe);
  return copy;
}

std::vector<PartCopy> fetch_all(const Room& room, const TraceJob& job, int fd) {
  const std::size_t slash = job.file.rfind('/');
  const std::string folder(slash == job.file.npos ? "." : job.file.substr(0, slash + 1));
  std::vector<PartCopy> parts;
  parts.push_back(PartCopy::of_file(fd));
  for (int pe = 1; pe < job.n_pes; ++pe) parts.push_back(fetch(room, pe, folder));
  return parts;
}

std::size_t bytes_of_file(int fd) {
  struct stat about {};
  return fstat(fd, &about) == 0 ? static_cast<std::size_t>(about.st_size) : 0;
}

std::span<std::byte> map(int fd, std::size_t bytes) {
  void* at = bytes ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
  if (at == MAP_FAILED) return {};
  return {static_cast<std::byte*>(at), bytes};
}

}  // namespace

PartCopy::~PartCopy() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

PartCopy PartCopy::of_file(int fd) {
  PartCopy copy;
  copy.bytes_ = map(fd, bytes_of_file(fd));
  return copy;
}

PartCopy PartCopy::of_bytes(std::size_t bytes, const std::string& folder) {
  PartCopy copy;
  std::string name = folder + "/meshmem_trace.XXXXXX";
  const int fd = mkostemp(name.data(), 0);
  if (fd < 0) return copy;
  unlink(name.c_str());
  if (posix_fallocate(fd, 0, static_cast<off_t>(bytes)) == 0) copy.bytes_ = map(fd, bytes);
  close(fd);
  return copy;
}

bool gather_parts(const TraceJob& job, int fd, const UseParts& use, std::string& error) {
  const Room room = take_room();
  if (!room.desk) {
    error = "the symmetric heap is full";
    return false;
  }
  *room.desk = {.bytes = bytes_of_file(fd), .request = 0, .ready = 0};
  pshmem_team_sync(SHMEM_TEAM_WORLD);
  if (job.pe == 0) {
    error = use(fetch_all(room, job, fd));
    room.desk->ready = error.empty() ? 1 : 0;
  } else {
    serve(room, fd);
  }
  pshmem_team_sync(SHMEM_TEAM_WORLD);
  const bool is_well = pshmem_uint64_g(&room.desk->ready, 0) == 1;
  pshmem_free(room.desk);
  return is_well;
}

}  // namespace meshmem::tracing
