// SPDX-License-Identifier: Apache-2.0
//
// Stores of the processor into device memory, through the window that a device with a large BAR has
// for all of its memory: where start-up has seen that they arrive, a small put takes no kernel.
// Invariant: only memory that was added is touched, and it stays mapped; what has been stored
// leaves the processor at once, and has arrived after complete(). No atomics: a processor's on such
// memory do not exclude a kernel's. Filled by start-up, used by DeviceTransfer and StagedAccess.
#ifndef MESHMEM_GPU_HOST_STORES_HPP_
#define MESHMEM_GPU_HOST_STORES_HPP_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

#include "base/pending_work.hpp"

namespace meshmem {

// How stores arrive in the memory of a device.
struct HostPath {
  // A word in memory of the device that this process alone writes, and nobody uses. What is stored
  // here last has arrived last.
  std::uint64_t* marker = nullptr;
  // A register of the device, mapped here. A store to it makes what came before it leave the
  // buffer that the device has for the host's accesses (HDP); nullptr: the device has none.
  volatile unsigned* flush = nullptr;
};

class HostStores {
 public:
  // Not measured, which takes a GPU. 32 GB/s, the most of PCIe 4 with 16 lanes, bring so much in
  // 0.13 us; a copy on a stream has to be launched and waited for.
  static constexpr std::size_t kMostBytes = 4096;

  void add(std::byte* base, std::size_t bytes, HostPath path);
  bool holds(const void* address, std::size_t bytes) const {
    return find(address, bytes) != nullptr;
  }

  // False: nothing is done, since the memory is not of those, or it is more than kMostBytes. An
  // aligned run of 1, 2, 4 or 8 bytes is one store. What this thread has stored before, anywhere,
  // is seen before.
  bool try_store(std::byte* there, const void* value, std::size_t bytes);
  // Returns when what any thread has stored before has arrived; at once if nothing has been.
  void complete();

 private:
  struct Memory {
    std::size_t bytes = 0;
    HostPath path;
    PendingWork stored;
  };
  const Memory* find(const void* address, std::size_t bytes) const;
  static void complete(Memory& memory);

  std::map<std::uintptr_t, Memory> memory_;  // by its base; does not change after start-up
  PendingWork work_;                         // what pending_work counts of these
};

// Whether complete() can tell that stores have arrived in such a device: by its own order of stores
// or by the register. AMD's runtime keeps arguments of kernels in device memory there.
bool keeps_host_stores_in_order(std::string_view architecture, bool has_flush_register);

// Whether this process may read and write these bytes; they are as before then. No fault comes of
// asking.
bool is_accessible(std::byte* place, std::size_t bytes);

// Lives for ever, as the mappings do.
HostStores& host_stores();

}  // namespace meshmem

#endif  // MESHMEM_GPU_HOST_STORES_HPP_
