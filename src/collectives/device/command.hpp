// SPDX-License-Identifier: Apache-2.0
//
// A collective as a command of the proxy, and back: for teams over several nodes, for whose
// collectives kernels and streams ask the host (device/proxy_ring.hpp).
// Invariant: a command says all that the executor between nodes needs of a call. Made by
// collectives on streams and by device/collectives/by_host.hpp, read by for_kernels.
#ifndef MESHMEM_COLLECTIVES_DEVICE_COMMAND_HPP_
#define MESHMEM_COLLECTIVES_DEVICE_COMMAND_HPP_

#include <cstdint>

#include "collectives/collective.hpp"
#include "device/proxy_ring.hpp"

namespace meshmem {

// Beside device::kFromStream: the team's order was fixed when the stream was asked, or when a graph
// captured the call. Kernels do not set it: their calls follow the team as it is.
constexpr std::uint32_t kInPeOrder = std::uint32_t{1} << 30;

// `caller`: the slot of the team, with these bits if a stream calls.
device::ProxyCommand command_of(const Collective& call, std::uint32_t caller);

// The call that a command asks for. A type that kernels do not have ends the job.
class AskedCall {
 public:
  explicit AskedCall(const device::ProxyCommand& command);
  AskedCall(const AskedCall&) = delete;
  AskedCall& operator=(const AskedCall&) = delete;
  const Collective& call() const { return call_; }

 private:
  Reduction op_{};
  device::Alltoallv varying_{};
  Collective call_;
};

}  // namespace meshmem

#endif  // MESHMEM_COLLECTIVES_DEVICE_COMMAND_HPP_
