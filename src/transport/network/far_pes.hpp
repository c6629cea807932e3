// SPDX-License-Identifier: Apache-2.0
//
// Questions of a PE that waits, to processes of other nodes.
// Invariant: as base/status/far_pes.hpp says. Part of the transport.
#ifndef MESHMEM_TRANSPORT_NETWORK_FAR_PES_HPP_
#define MESHMEM_TRANSPORT_NETWORK_FAR_PES_HPP_

#include "base/status/far_pes.hpp"
#include "transport/network/state.hpp"

namespace meshmem::network {

class FarPesByMessages : public FarPes {
 public:
  explicit FarPesByMessages(NetworkState& state) : state_(state) {}
  int node_of(int pe) const override;
  bool ask_for_waits(int pe, std::span<const std::int32_t> pes, std::span<OnlyWait> answers,
                     std::atomic<std::size_t>* missing) override;
  bool ask_all_processes(std::atomic<std::size_t>* missing) override;
  bool has_completed_all() override;

 private:
  bool ask(Flow& flow, std::span<const std::int32_t> pes, std::span<OnlyWait> answers,
           std::atomic<std::size_t>* missing);

  NetworkState& state_;
};

}  // namespace meshmem::network

#endif  // MESHMEM_TRANSPORT_NETWORK_FAR_PES_HPP_
