// SPDX-License-Identifier: Apache-2.0
//
// Makes stores leave the processor, and waits until they have arrived.
// Invariant: all accesses are the processor's, and nothing here calls HIP.
#include "gpu/host_stores.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <initializer_list>

#include "base/machine/copy_bytes.hpp"
#include "base/waiting/fence.hpp"

namespace meshmem {

HostStores& host_stores() {
  static HostStores& instance = *new HostStores;
  return instance;
}

void HostStores::add(std::byte* base, std::size_t bytes, HostPath path) {
  Memory& memory = memory_.emplace_back();
  memory.base = reinterpret_cast<std::uintptr_t>(base);
  memory.bytes = bytes;
  memory.path = path;
}

HostStores::Memory* HostStores::find(const void* address, std::size_t bytes) {
  for (Memory& memory : memory_) {
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(address) - memory.base;
    if (offset < memory.bytes && bytes <= memory.bytes - offset) return &memory;
  }
  return nullptr;
}

bool HostStores::try_store(std::byte* there, const void* value, std::size_t bytes) {
  if (bytes == 0 || bytes > kMostBytes) return false;
  Memory* const memory = find(there, bytes);
  if (!memory) return false;
  send_gathered_stores();  // earlier stores, into host memory too, are seen before this one
  copy_bytes(there, value, bytes);
  send_gathered_stores();  // another PE may wait for it, and this thread may never store again
  if (memory->path.flush) *memory->path.flush = 1;
  memory->stored.count_issued();
  pending_work.count_issued();
  return true;
}

// The processor may send gathered stores in any order. So complete() stores a word after all of
// them and reads it back. Then it empties the device's buffer by a write to the register, and reads
// the register to wait for that.
void HostStores::complete() {
  for (Memory& memory : memory_) {
    if (!memory.stored.is_under_way()) continue;
    const std::uint64_t issued = memory.stored.issued.load(std::memory_order_acquire);
    const HostPath path = memory.path;
    send_gathered_stores();
    __atomic_store_n(path.marker, issued, __ATOMIC_RELAXED);
    send_gathered_stores_before_loads();
    (void)__atomic_load_n(static_cast<volatile std::uint64_t*>(path.marker), __ATOMIC_RELAXED);
    if (path.flush) {
      *path.flush = 1;
      (void)*path.flush;
    }
    memory.stored.note_completed(issued);
  }
}

// As in ROCm/clr, rocclr/device/rocm/rocsettings.cpp, setKernelArgImpl.
bool keeps_host_stores_in_order(std::string_view architecture, bool has_flush_register) {
  const auto is_one_of = [&](std::initializer_list<std::string_view> beginnings) {
    return std::ranges::any_of(beginnings, [&](auto one) { return architecture.starts_with(one); });
  };
  return is_one_of({"gfx90a", "gfx94"}) ||
         (has_flush_register &&
          is_one_of({"gfx908", "gfx909", "gfx90c", "gfx95", "gfx103", "gfx11", "gfx12"}));
}

// A system call fails with EFAULT if it may not read or write the memory, instead of a fault.
bool is_accessible(std::byte* place, std::size_t bytes) {
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0) return false;
  const auto moved = static_cast<ssize_t>(bytes);
  const bool accessible =
      ::write(pipe_ends[1], place, bytes) == moved && ::read(pipe_ends[0], place, bytes) == moved;
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
  return accessible;
}

}  // namespace meshmem
