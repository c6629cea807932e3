// SPDX-License-Identifier: Apache-2.0
// The table of allocations and the memory file behind device memory.
// Invariant: the file has no name, so that nothing is left behind, however its last user ends.
#include "allocations.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "process_state.hpp"

namespace hip_on_cpu {
namespace {

// A file that grows beyond this limit (ulimit -f) gives no error: the system kills the process.
bool may_have(off_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || static_cast<rlim_t>(bytes) <= limit.rlim_cur;
}

}  // namespace

Allocations& Allocations::get() { return ProcessState<Allocations>::get(); }
MemoryFile& MemoryFile::get() { return ProcessState<MemoryFile>::get(); }

Allocations::ByBase::const_iterator Allocations::first_beyond(std::uintptr_t address) const {
  return std::upper_bound(
      by_base_.begin(), by_base_.end(), address,
      [](std::uintptr_t at, const Allocation& other) { return at < other.base; });
}

bool Allocations::add(const Allocation& allocation) {
  const std::unique_lock lock(mutex_);
  const auto next = first_beyond(allocation.base);
  if (next != by_base_.end() && next->base - allocation.base < allocation.size) return false;
  if (next != by_base_.begin() && std::prev(next)->contains(allocation.base)) return false;
  by_base_.insert(next, allocation);
  return true;
}

std::optional<Allocation> Allocations::find(const void* address) const {
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  const std::shared_lock lock(mutex_);
  const auto next = first_beyond(number);
  if (next == by_base_.begin()) return std::nullopt;
  const Allocation& candidate = *std::prev(next);
  return candidate.contains(number) ? std::optional(candidate) : std::nullopt;
}

std::optional<Allocation> Allocations::remove(const void* base, MemoryKind kind) {
  const auto number = reinterpret_cast<std::uintptr_t>(base);
  const std::unique_lock lock(mutex_);
  const auto next = first_beyond(number);
  if (next == by_base_.begin()) return std::nullopt;
  const auto found = std::prev(next);
  const Allocation allocation = *found;
  if (allocation.base != number || allocation.kind != kind) return std::nullopt;
  by_base_.erase(found);
  return allocation;
}

// Open to this user only.
static int make_memory_file() {
  const int file = memfd_create("meshmem-device-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) return -1;
  if (fchmod(file, S_IRUSR | S_IWUSR) == 0 && fcntl(file, F_ADD_SEALS, kMemoryFileSeals) == 0)
    return file;
  close(file);
  return -1;
}

bool MemoryFile::open_if_needed() {
  if (descriptor_ < 0) descriptor_ = make_memory_file();
  return descriptor_ >= 0;
}

int MemoryFile::descriptor() {
  const std::lock_guard lock(mutex_);
  return open_if_needed() ? descriptor_ : -1;
}

std::uint64_t MemoryFile::next_serial() {
  const std::lock_guard lock(mutex_);
  return ++serial_;
}

std::optional<off_t> MemoryFile::take(std::size_t length) {
  const std::lock_guard lock(mutex_);
  if (!open_if_needed()) return std::nullopt;
  for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
    const auto [offset, room] = *hole;
    if (room < length) continue;
    holes_.erase(hole);
    if (room > length) holes_.emplace(offset + static_cast<off_t>(length), room - length);
    return offset;
  }
  const off_t offset = end_;
  if (!may_have(offset + static_cast<off_t>(length))) return std::nullopt;
  if (ftruncate(descriptor_, offset + static_cast<off_t>(length)) != 0) return std::nullopt;
  end_ += static_cast<off_t>(length);
  return offset;
}

void MemoryFile::give_back(off_t offset, std::size_t length) {
  const std::lock_guard lock(mutex_);
  // The machine gets the pages, and a peer that still maps them sees zeros; the header's page
  // vanishes as well.
  fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
            static_cast<off_t>(length));
  add_hole(offset, length);
}

void MemoryFile::add_hole(off_t offset, std::size_t length) {
  auto next = holes_.lower_bound(offset);
  if (next != holes_.end() && offset + static_cast<off_t>(length) == next->first) {
    length += next->second;
    next = holes_.erase(next);
  }
  if (next != holes_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + static_cast<off_t>(previous->second) == offset) {
      previous->second += length;
      return;
    }
  }
  holes_.emplace(offset, length);
}

}  // namespace hip_on_cpu
