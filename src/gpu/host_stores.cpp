// SPDX-License-Identifier: Apache-2.0
//
// A store, what makes it leave the processor, and what waits for its arrival: a word that is stored
// behind it and read back, and the register that empties a device's buffer of the host's accesses.
// AMD's runtime does the same for arguments of kernels.
// Invariant: every access is one of the processor; no call of HIP.
#include "gpu/host_stores.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>

#include "base/copy_bytes.hpp"
#include "base/fence.hpp"

namespace meshmem {

HostStores& host_stores() {
  static HostStores& instance = *new HostStores;
  return instance;
}

void HostStores::add(std::byte* base, std::size_t bytes, HostPath path) {
  Memory& memory = memory_[reinterpret_cast<std::uintptr_t>(base)];
  memory.bytes = bytes;
  memory.path = path;
}

const HostStores::Memory* HostStores::find(const void* address, std::size_t bytes) const {
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  const auto next = memory_.upper_bound(number);
  if (next == memory_.begin()) return nullptr;
  const auto& [base, memory] = *std::prev(next);
  const std::uintptr_t offset = number - base;
  const bool is_within = offset < memory.bytes && bytes <= memory.bytes - offset;
  return is_within ? &memory : nullptr;
}

bool HostStores::try_store(std::byte* there, const void* value, std::size_t bytes) {
  if (bytes == 0 || bytes > kMostBytes) return false;
  auto* const memory = const_cast<Memory*>(find(there, bytes));
  if (!memory) return false;
  send_gathered_stores();  // what came before, in host memory too, is seen before this
  copy_bytes(there, value, bytes);
  send_gathered_stores();  // somebody may wait for it, and this thread may store nothing more
  if (memory->path.flush) *memory->path.flush = 1;
  memory->stored.count_issued();
  work_.count_issued();
  pending_work.count_issued();
  return true;
}

void HostStores::complete() {
  if (!work_.is_under_way()) return;
  const std::uint64_t issued = work_.issued.load(std::memory_order_acquire);
  for (auto& [base, memory] : memory_) {
    if (memory.stored.is_under_way()) complete(memory);
  }
  work_.note_completed(issued);
}

// The processor may send what it has gathered in any order, so a read of what was stored before
// would not speak for the rest; one of a word that was stored after all of it does.
void HostStores::complete(Memory& memory) {
  const std::uint64_t issued = memory.stored.issued.load(std::memory_order_acquire);
  const HostPath& path = memory.path;
  send_gathered_stores();
  __atomic_store_n(path.marker, issued, __ATOMIC_RELAXED);
  send_gathered_stores_before_loads();
  (void)__atomic_load_n(static_cast<volatile std::uint64_t*>(path.marker), __ATOMIC_RELAXED);
  if (path.flush) {
    *path.flush = 1;
    (void)*path.flush;  // the answer comes behind the write
  }
  memory.stored.note_completed(issued);
}

// gfx90a is version 9, 0, stepping 10. ROCm/clr, rocclr/device/rocm/rocsettings.cpp,
// setKernelArgImpl: gfx90a and gfx94x keep the order of stores, others that are neither older than
// gfx908 nor gfx101x need the register.
bool keeps_host_stores_in_order(std::string_view architecture, bool has_flush_register) {
  constexpr std::string_view kPrefix = "gfx";
  if (!architecture.starts_with(kPrefix)) return false;
  architecture.remove_prefix(kPrefix.size());
  if (architecture == "90a" || (architecture.size() == 3 && architecture.starts_with("94")))
    return true;
  if (architecture.size() < 3) return false;
  unsigned major = 0, minor_and_stepping = 0;
  const char* const split = architecture.data() + architecture.size() - 2;
  const char* const end = split + 2;
  if (std::from_chars(architecture.data(), split, major).ptr != split) return false;
  if (std::from_chars(split, end, minor_and_stepping, 16).ptr != end) return false;
  const bool is_older = major < 9 || (major == 9 && minor_and_stepping < 0x08);
  const bool is_first_of_10 = major == 10 && minor_and_stepping < 0x20;
  return has_flush_register && !is_older && !is_first_of_10;
}

// A system call that meets memory that it may not touch says EFAULT, in both directions.
bool is_accessible(std::byte* place, std::size_t bytes) {
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0) return false;
  const auto moved = static_cast<ssize_t>(bytes);
  const bool is =
      ::write(pipe_ends[1], place, bytes) == moved && ::read(pipe_ends[0], place, bytes) == moved;
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
  return is;
}

}  // namespace meshmem
