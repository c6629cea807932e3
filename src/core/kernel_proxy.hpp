// SPDX-License-Identifier: Apache-2.0
//
// The proxy of this PE: its ring, its thread, and the collectives that kernels ask the host for.
// Invariant: kernels know which teams span nodes even where the user has turned the thread off.
// Part of the Runtime, which opens it where there are devices and PEs are far.
#ifndef MESHMEM_CORE_KERNEL_PROXY_HPP_
#define MESHMEM_CORE_KERNEL_PROXY_HPP_

#include <functional>
#include <utility>

#include "base/settings/environment.hpp"
#include "core/nodes.hpp"
#include "gpu/proxy_memory.hpp"
#include "proxy/proxy.hpp"

namespace meshmem {

// Begins and ends the collectives that kernels ask the host for, on teams over several nodes.
struct CollectivesOfKernels {
  std::function<void(const device::ProxyCommand&)> begin;
  std::function<void()> stop;
};

class KernelProxy {
 public:
  // Called before open().
  void use_collectives(CollectivesOfKernels collectives) { collectives_ = std::move(collectives); }
  // Returns the ring that kernels of the device get. It has no slots if the thread is off.
  device::ProxyRing open(int device, const Nodes& nodes, ProxyKind kind);
  // Called when no kernel runs any more.
  void close();
  // Tells kernels whether the team in this slot spans nodes. Does nothing before open().
  void note_team(int slot, bool spans_nodes) { memory_.note_team(slot, spans_nodes); }
  Proxy& thread() { return thread_; }

 private:
  ProxyRingMemory memory_;
  Proxy thread_;
  CollectivesOfKernels collectives_;
};

}  // namespace meshmem

#endif  // MESHMEM_CORE_KERNEL_PROXY_HPP_
