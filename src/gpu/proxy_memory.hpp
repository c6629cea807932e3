// SPDX-License-Identifier: Apache-2.0
//
// The memory of the ring by which kernels reach far PEs: pinned memory, which host and kernels
// share, and counters and tables in memory of the device.
// Invariant: the memory is taken once in a process, since kernels of a captured graph may have its
// address. open() resets it in each init, while no kernel runs. Part of a KernelProxy.
#ifndef MESHMEM_GPU_PROXY_MEMORY_HPP_
#define MESHMEM_GPU_PROXY_MEMORY_HPP_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/proxy_ring.hpp"

namespace meshmem {

class ProxyRingMemory {
 public:
  // is_far: by world PE.
  void open(int device, const std::vector<std::uint8_t>& is_far);
  bool is_open() const { return pinned_ != nullptr; }
  // The ring as kernels get it, and the places where the host finds it.
  const device::ProxyRing& ring() const { return ring_; }
  device::ProxySlot* slots() const { return pinned_->slots; }
  device::ProxyProgress* progress() const { return &pinned_->progress; }
  device::ProxyResult* results() const { return pinned_->results; }
  // Returns the place of the kernels' head counter; nullptr if the host cannot read it.
  const std::uint64_t* head() const;
  // Notes whether the team in this slot has members on other nodes.
  void note_team(int slot, bool spans_nodes);

 private:
  struct Pinned {
    device::ProxyProgress progress;
    device::ProxySlot slots[device::kProxySlots];
    device::ProxyResult results[device::kProxyResults];
  };
  struct Counters;
  void take_memory(std::size_t n_pes);

  int device_ = -1;
  Pinned* pinned_ = nullptr;
  Counters* counters_ = nullptr;
  std::uint8_t* is_far_ = nullptr;
  std::uint8_t* spans_nodes_ = nullptr;
  device::ProxyRing ring_{};
};

}  // namespace meshmem

#endif  // MESHMEM_GPU_PROXY_MEMORY_HPP_
