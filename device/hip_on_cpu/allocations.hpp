// SPDX-License-Identifier: Apache-2.0
// Which ranges of the address space HIP knows, and as what kind of memory.
// Invariant: ranges never overlap. Device memory of this process lies in one memory file. Each
// allocation lies behind a page that identifies it, so that another process can tell a live
// allocation from a freed one. Used by memory.cpp (makes and ends them), ipc.cpp and copies.cpp
// (look them up).
#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>

namespace hip_on_cpu {

// kDevice: of this process. kImported: of another process, opened by its IPC handle. kAdopted: the
// library's own, shared by all processes of a job. kHost: pinned, allocated by HIP. kRegistered:
// the program's, pinned later. kManaged: of the host and the devices alike.
enum class MemoryKind : std::uint8_t { kDevice, kImported, kAdopted, kHost, kRegistered, kManaged };

struct Allocation {
  Allocation(const void* memory, std::size_t bytes, MemoryKind its_kind, int its_device,
             unsigned its_flags)
      : base(reinterpret_cast<std::uintptr_t>(memory)),
        size(bytes),
        flags(its_flags),
        device(static_cast<std::int16_t>(its_device)),
        kind(its_kind) {}

  std::uintptr_t base;
  std::size_t size;
  off_t offset = 0;  // kDevice: where the page before it begins in the memory file
  unsigned flags;
  std::int16_t device;
  MemoryKind kind;

  bool contains(std::uintptr_t address) const { return address >= base && address - base < size; }
  bool is_device() const {
    return kind == MemoryKind::kDevice || kind == MemoryKind::kImported ||
           kind == MemoryKind::kAdopted;
  }
  void* pointer() const { return reinterpret_cast<void*>(base); }
};
static_assert(sizeof(Allocation) == 32);  // a process has at least two for each other process

class Allocations {
 public:
  static Allocations& get();

  bool add(const Allocation& allocation);  // false if it would overlap another
  std::optional<Allocation> find(const void* address) const;
  // Removes the one that begins at `base` and is of this kind.
  std::optional<Allocation> remove(const void* base, MemoryKind kind);

 private:
  // Ascending. A deque, since a vector may leave half of its memory unused.
  using ByBase = std::deque<Allocation>;
  ByBase::const_iterator first_beyond(std::uintptr_t address) const;

  mutable std::shared_mutex mutex_;
  ByBase by_base_;
};

// At the beginning of the page before an allocation.
struct AllocationHeader {
  std::uint64_t magic, serial, size;
};
inline constexpr std::uint64_t kAllocationMagic = 0x6d6573686d656d21;
// The largest page of any machine, so every machine can map a file from a multiple of it.
inline constexpr std::size_t kPage = 64 * 1024;
inline std::size_t whole_pages(std::size_t size) { return (size + kPage - 1) & ~(kPage - 1); }

// Another process recognizes a memory file by these seals. The file grows, but never shrinks under
// a process that maps it.
inline constexpr int kMemoryFileSeals = F_SEAL_SHRINK | F_SEAL_SEAL;

// The memory file of this process: pages are handed out by offset, and given back to the machine
// when they are freed.
class MemoryFile {
 public:
  static MemoryFile& get();

  int descriptor();                               // -1 if the system refuses the file
  std::optional<off_t> take(std::size_t length);  // takes no memory yet
  void give_back(off_t offset, std::size_t length);
  std::uint64_t next_serial();

 private:
  bool open_if_needed();
  void add_hole(off_t offset, std::size_t length);

  std::mutex mutex_;
  int descriptor_ = -1;
  off_t end_ = 0;
  std::uint64_t serial_ = 0;
  std::map<off_t, std::size_t> holes_;
};

}  // namespace hip_on_cpu
