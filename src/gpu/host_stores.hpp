// SPDX-License-Identifier: Apache-2.0
//
// Stores of the processor into the memory of devices that have a large BAR. Small puts then take no
// kernel; everything works without them, so a first reader may skip this.
// Invariant: a store leaves the processor at once, and has arrived after complete(). The processor
// does no atomics there, since they do not exclude a kernel's. Start-up (device_check.cpp) adds the
// memory where it has seen stores arrive; DeviceTransfer and StagedAccess store.
#ifndef MESHMEM_GPU_HOST_STORES_HPP_
#define MESHMEM_GPU_HOST_STORES_HPP_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>

#include "base/waiting/pending_work.hpp"

namespace meshmem {

// The places by which to make sure that stores have arrived in the memory of a device.
struct HostPath {
  std::uint64_t* marker = nullptr;     // a word there that only this process uses
  volatile unsigned* flush = nullptr;  // a register that empties the device's buffer, if any (HDP)
};

class HostStores {
 public:
  // The most bytes of a store. Not measured: PCIe 4 brings this much in 0.13 us, far less than a
  // copy on a stream takes.
  static constexpr std::size_t kMostBytes = 4096;

  void add(std::byte* base, std::size_t bytes, HostPath path);
  bool holds(const void* address, std::size_t bytes) { return find(address, bytes) != nullptr; }
  // Returns false, and stores nothing, if the memory was not added or there are more than
  // kMostBytes. An aligned run of 1, 2, 4 or 8 bytes is one store. All earlier stores of this
  // thread, anywhere, are seen before it.
  bool try_store(std::byte* there, const void* value, std::size_t bytes);
  // Returns when all that any thread has stored before has arrived.
  void complete();

 private:
  struct Memory {
    std::uintptr_t base = 0;
    std::size_t bytes = 0;
    HostPath path;
    PendingWork stored;
  };
  Memory* find(const void* address, std::size_t bytes);

  std::deque<Memory> memory_;  // does not change after start-up
};

// Whether complete() works with such a device. AMD's runtime relies on the same for the arguments
// of kernels.
bool keeps_host_stores_in_order(std::string_view architecture, bool has_flush_register);

// Whether this process may read and write these bytes. Asking changes nothing and cannot fault.
bool is_accessible(std::byte* place, std::size_t bytes);

HostStores& host_stores();  // lives for ever, as the mappings do

}  // namespace meshmem

#endif  // MESHMEM_GPU_HOST_STORES_HPP_
