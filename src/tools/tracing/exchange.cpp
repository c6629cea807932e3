// SPDX-License-Identifier: Apache-2.0
//
// Uses puts, gets and waits of the pshmem_ routines, which are not recorded.
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

struct Words {
  std::uint64_t first;    // of each PE: 1 if it is its node's first
  std::uint64_t asked;    // in PE 0: the round that somebody asks for
  std::uint64_t turn;     // in the PE that asks: 1 when it is called
  std::uint64_t time_ns;  // in the PE that asks: PE 0's clock
  std::int64_t offset;    // in a node's first PE: the result
};

void answer(Words& words, int pe) {
  words.asked = 0;
  pshmem_uint64_p(&words.turn, 1, pe);
  pshmem_quiet();
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    pshmem_uint64_wait_until(&words.asked, SHMEM_CMP_EQ, round);
    pshmem_uint64_p(&words.time_ns, trace_clock_ns(), pe);
    pshmem_quiet();
  }
}

std::int64_t ask(Words& words) {
  pshmem_uint64_wait_until(&words.turn, SHMEM_CMP_EQ, 1);
  std::int64_t offset = 0, fastest = INT64_MAX;
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    words.time_ns = 0;
    const std::uint64_t begin = trace_clock_ns();
    pshmem_uint64_p(&words.asked, round, 0);
    pshmem_quiet();
    pshmem_uint64_wait_until(&words.time_ns, SHMEM_CMP_NE, 0);
    const auto trip = static_cast<std::int64_t>(trace_clock_ns() - begin);
    if (trip >= fastest) continue;
    fastest = trip;
    offset = static_cast<std::int64_t>(words.time_ns - begin) - trip / 2;
  }
  return std::abs(offset) <= fastest / 2 ? 0 : offset;  // it may be the same clock
}

std::int64_t measure(Words& words, const TraceJob& job) {
  words = {};
  words.first = job.is_first_of_node ? 1 : 0;
  pshmem_team_sync(SHMEM_TEAM_WORLD);
  if (job.pe == 0) {
    for (int pe = 1; pe < job.n_pes; ++pe)
      if (pshmem_uint64_g(&words.first, pe) == 1) answer(words, pe);
  } else if (job.is_first_of_node) {
    words.offset = ask(words);
  }
  pshmem_team_sync(SHMEM_TEAM_WORLD);
  return pshmem_int64_g(&words.offset, job.first_pe_of_node);
}

// ---- Parts. PE 0 asks for one block after the other. A PE serves until PE 0 says that this was
// the last.

constexpr std::size_t kLargestBlock = 256 << 10, kSmallestBlock = 4 << 10;
constexpr std::uint64_t kEnd = UINT64_MAX;

// The block follows the desk.
struct Desk {
  std::size_t block_bytes;
  std::uint64_t bytes;    // of this PE's part
  std::uint64_t request;  // 1 + the block that PE 0 wants, or kEnd
  std::uint64_t ready;    // in PE 0: 1 + the block that is there
  std::byte* block() { return reinterpret_cast<std::byte*>(this + 1); }
};

// All PEs get the same, or none.
Desk* make_desk(std::uint64_t bytes_of_part) {
  for (std::size_t bytes = kLargestBlock; bytes >= kSmallestBlock; bytes /= 2)
    if (void* at = pshmem_malloc_with_hints(sizeof(Desk) + bytes, SHMEMX_MALLOC_HOST))
      return new (at) Desk{.block_bytes = bytes, .bytes = bytes_of_part, .request = 0, .ready = 0};
  return nullptr;
}

void serve(Desk& desk, int fd) {
  for (std::uint64_t served = 0;;) {
    pshmem_uint64_wait_until(&desk.request, SHMEM_CMP_NE, served);
    served = pshmem_uint64_atomic_fetch(&desk.request, pshmem_my_pe());
    if (served == kEnd) return;
    const std::size_t begin = (served - 1) * desk.block_bytes;
    if (pread(fd, desk.block(), desk.block_bytes, static_cast<off_t>(begin)) < 0)
      std::memset(desk.block(), 0, desk.block_bytes);
    pshmem_quiet();
    pshmem_uint64_atomic_set(&desk.ready, served, 0);
  }
}

PartCopy fetch(Desk& desk, int pe, const std::string& folder) {
  const std::size_t bytes = pshmem_uint64_g(&desk.bytes, pe);
  PartCopy copy = PartCopy::of_bytes(bytes, folder);
  const std::span<std::byte> to = copy.bytes();
  desk.ready = 0;
  for (std::size_t begin = 0; begin < to.size(); begin += desk.block_bytes) {
    const std::uint64_t request = 1 + begin / desk.block_bytes;
    pshmem_uint64_atomic_set(&desk.request, request, pe);
    pshmem_uint64_wait_until(&desk.ready, SHMEM_CMP_EQ, request);
    pshmem_getmem(to.data() + begin, desk.block(), std::min(desk.block_bytes, to.size() - begin),
                  pe);
  }
  pshmem_uint64_atomic_set(&desk.request, kEnd, pe);
  return copy;
}

std::vector<PartCopy> fetch_all(Desk& desk, const TraceJob& job, int fd) {
  const std::size_t slash = job.file.rfind('/');
  const std::string folder(slash == job.file.npos ? "." : job.file.substr(0, slash + 1));
  std::vector<PartCopy> parts;
  parts.push_back(PartCopy::of_file(fd));
  for (int pe = 1; pe < job.n_pes; ++pe) parts.push_back(fetch(desk, pe, folder));
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
  auto* words = static_cast<Words*>(pshmem_malloc_with_hints(sizeof(Words), SHMEMX_MALLOC_HOST));
  if (!words) return found;
  found.offset_ns = measure(*words, job);
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
  Desk* const made = make_desk(bytes_of_file(fd));
  if (!made) {
    error = "the symmetric heap is full";
    return false;
  }
  Desk& desk = *made;
  pshmem_team_sync(SHMEM_TEAM_WORLD);
  if (job.pe == 0) {
    error = use(fetch_all(desk, job, fd));
    desk.ready = error.empty() ? 1 : 0;
  } else {
    serve(desk, fd);
  }
  pshmem_team_sync(SHMEM_TEAM_WORLD);
  const bool is_joined = pshmem_uint64_g(&desk.ready, 0) == 1;
  pshmem_free(made);
  return is_joined;
}

}  // namespace meshmem::tracing
