// SPDX-License-Identifier: Apache-2.0
//
// Calls routines by their pshmem_ names, so that the trace does not record them.
#include "tools/tracing/exchange.hpp"

#include <fcntl.h>
#include <pshmem.h>
#include <pshmemx.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace meshmem::tracing {
namespace {

// ---- Clocks. PE 0 calls the first PE of each node in turn. That PE then asks PE 0 for the time
// several times, and uses the answer that came fastest. The other PEs of its node read the result.

constexpr std::uint64_t kRounds = 16;

struct ClockWords {
  std::uint64_t is_first_of_node;  // in each PE
  std::uint64_t asked_round;       // in PE 0: the round that the called PE asks for
  std::uint64_t is_called;         // in the called PE: it may ask
  std::uint64_t time_ns;           // in the called PE: PE 0's clock
  std::int64_t offset_ns;          // in a node's first PE: the result
};

void tell_time(ClockWords& words, int pe) {
  words.asked_round = 0;
  pshmem_uint64_p(&words.is_called, 1, pe);
  pshmem_quiet();
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    pshmem_uint64_wait_until(&words.asked_round, SHMEM_CMP_EQ, round);
    pshmem_uint64_p(&words.time_ns, trace_clock_ns(), pe);
    pshmem_quiet();
  }
}

std::int64_t measure_own_offset(ClockWords& words) {
  pshmem_uint64_wait_until(&words.is_called, SHMEM_CMP_EQ, 1);
  std::int64_t offset = 0, fastest = INT64_MAX;
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    words.time_ns = 0;
    const std::uint64_t begin = trace_clock_ns();
    pshmem_uint64_p(&words.asked_round, round, 0);
    pshmem_quiet();
    pshmem_uint64_wait_until(&words.time_ns, SHMEM_CMP_NE, 0);
    const auto trip = static_cast<std::int64_t>(trace_clock_ns() - begin);
    if (trip >= fastest) continue;
    fastest = trip;
    offset = static_cast<std::int64_t>(words.time_ns - begin) - trip / 2;
  }
  // An offset within the error says nothing: both may have the same clock.
  return std::abs(offset) <= fastest / 2 ? 0 : offset;
}

std::int64_t measure_offset(ClockWords& words, const TraceJob& job) {
  words = {};
  words.is_first_of_node = job.is_first_of_node ? 1 : 0;
  pshmem_team_sync(SHMEM_TEAM_WORLD);
  if (job.pe == 0) {
    for (int pe = 1; pe < job.n_pes; ++pe)
      if (pshmem_uint64_g(&words.is_first_of_node, pe) == 1) tell_time(words, pe);
  } else if (job.is_first_of_node) {
    words.offset_ns = measure_own_offset(words);
  }
  pshmem_team_sync(SHMEM_TEAM_WORLD);
  return pshmem_int64_g(&words.offset_ns, job.first_pe_of_node);
}

// ---- Parts. PE 0 asks each other PE for its part, one block after the other. That PE puts each
// block into its buffer, from which PE 0 gets it, until PE 0 says that it has the last one.

constexpr std::size_t kLargestBlock = 256 << 10, kSmallestBlock = 4 << 10;
constexpr std::uint64_t kEnd = UINT64_MAX;

// In symmetric memory; the bytes of one block follow it.
struct BlockBuffer {
  std::size_t block_bytes;
  std::uint64_t part_bytes;
  std::uint64_t request = 0;    // 1 + the block that PE 0 wants, or kEnd
  std::uint64_t ready = 0;      // in PE 0: 1 + the block that the other PE has in its buffer
  std::uint64_t succeeded = 0;  // in PE 0, at the end: all parts have been used
  std::byte* block() { return reinterpret_cast<std::byte*>(this + 1); }
};

// All PEs get a buffer of the same size, or none.
BlockBuffer* make_buffer(std::uint64_t part_bytes) {
  for (std::size_t bytes = kLargestBlock; bytes >= kSmallestBlock; bytes /= 2)
    if (void* at = pshmem_malloc_with_hints(sizeof(BlockBuffer) + bytes, SHMEMX_MALLOC_HOST))
      return new (at) BlockBuffer{.block_bytes = bytes, .part_bytes = part_bytes};
  return nullptr;
}

void serve(BlockBuffer& buffer, int fd) {
  for (std::uint64_t served = 0;;) {
    pshmem_uint64_wait_until(&buffer.request, SHMEM_CMP_NE, served);
    served = pshmem_uint64_atomic_fetch(&buffer.request, pshmem_my_pe());
    if (served == kEnd) return;
    const std::size_t begin = (served - 1) * buffer.block_bytes;
    if (pread(fd, buffer.block(), buffer.block_bytes, static_cast<off_t>(begin)) < 0)
      std::memset(buffer.block(), 0, buffer.block_bytes);
    pshmem_quiet();  // PE 0 sees the block before `ready`
    pshmem_uint64_atomic_set(&buffer.ready, served, 0);
  }
}

PartCopy fetch_part(BlockBuffer& buffer, int pe, const std::string& folder) {
  const std::size_t bytes = pshmem_uint64_g(&buffer.part_bytes, pe);
  PartCopy copy = PartCopy::of_bytes(bytes, folder);
  const std::span<std::byte> to = copy.bytes();  // empty if the disk has no room
  buffer.ready = 0;
  for (std::size_t begin = 0; begin < to.size(); begin += buffer.block_bytes) {
    const std::uint64_t request = 1 + begin / buffer.block_bytes;
    pshmem_uint64_atomic_set(&buffer.request, request, pe);
    pshmem_uint64_wait_until(&buffer.ready, SHMEM_CMP_EQ, request);
    pshmem_getmem(to.data() + begin, buffer.block(),
                  std::min(buffer.block_bytes, to.size() - begin), pe);
  }
  pshmem_uint64_atomic_set(&buffer.request, kEnd, pe);
  return copy;
}

std::vector<PartCopy> fetch_parts(BlockBuffer& buffer, const TraceJob& job, int fd) {
  const std::size_t slash = job.file.rfind('/');
  const std::string folder(slash == job.file.npos ? "." : job.file.substr(0, slash));
  std::vector<PartCopy> parts;
  parts.push_back(PartCopy::of_file(fd));
  for (int pe = 1; pe < job.n_pes; ++pe) parts.push_back(fetch_part(buffer, pe, folder));
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

ClockOffset measure_clock(const TraceJob& job) {
  ClockOffset found{trace_clock_ns(), 0};
  if (job.n_machines == 1) return found;
  auto* words =
      static_cast<ClockWords*>(pshmem_malloc_with_hints(sizeof(ClockWords), SHMEMX_MALLOC_HOST));
  if (!words) return found;
  found.offset_ns = measure_offset(*words, job);
  pshmem_free(words);
  return found;
}

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

bool gather_parts(const TraceJob& job, int fd, UseParts* use, std::string& error) {
  BlockBuffer* const buffer = make_buffer(bytes_of_file(fd));
  if (!buffer) {
    error = "the symmetric heap is full";
    return false;
  }
  pshmem_team_sync(SHMEM_TEAM_WORLD);
  if (job.pe == 0) {
    error = use(fetch_parts(*buffer, job, fd));
    buffer->succeeded = error.empty() ? 1 : 0;
  } else {
    serve(*buffer, fd);
  }
  pshmem_team_sync(SHMEM_TEAM_WORLD);
  const bool succeeded = pshmem_uint64_g(&buffer->succeeded, 0) != 0;
  pshmem_free(buffer);
  return succeeded;
}

}  // namespace meshmem::tracing
