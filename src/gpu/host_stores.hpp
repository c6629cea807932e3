// SPDX-License-Identifier: Apache-2.0
//
// Stores of the processor into device memory, through the window that a device with a large BAR has
// for all of its memory: where start-up has seen that they arrive, a small put takes no kernel.
// Invariant: only memory that was added is touched, and it stays mapped; what has been stored
// leaves the processor at once, and has arrived after complete(). No atomics: those of a processor
// and of a device exclude each other on no bus. Filled by start-up, used by DeviceTransfer.
#ifndef MESHMEM_GPU_HOST_STORES_HPP_
#define MESHMEM_GPU_HOST_STORES_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

#include "base/pending_work.hpp"

namespace meshmem {

// How stores arrive in the memory of a device.
struct HostPath {
  // A register of the device, mapped here. A store to it makes what came before it leave the
  // buffer that the device has for the host's accesses (HDP); nullptr: the device has none.
  volatile unsigned* flush = nullptr;
};

class HostStores {
 public:
  // Not measured, since that takes a GPU: gathered stores over PCIe 4 take about 0.3 us for so
  // many bytes, a launch several.
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
    PendingWork stored;                     // counted behind the store and `last`
    std::atomic<std::byte*> last{nullptr};  // where something was stored last
  };
  const Memory* find(const void* address, std::size_t bytes) const;
  static void complete(Memory& memory);

  std::map<std::uintptr_t, Memory> memory_;  // by its base; does not change after start-up
  PendingWork work_;                         // what pending_work counts of these
};

// Whether what a processor stores into the memory of such a device arrives in order, by a read that
// follows or by the register: AMD's runtime keeps arguments of kernels in device memory where it
// does, and in host memory elsewhere.
bool keeps_host_stores_in_order(std::string_view architecture, bool has_flush_register);

// Whether this process may read and write these bytes; they are as before then. No fault comes of
// asking.
bool is_accessible(std::byte* place, std::size_t bytes);

// Lives for ever, as the mappings do.
HostStores& host_stores();

}  // namespace meshmem

#endif  // MESHMEM_GPU_HOST_STORES_HPP_
