// SPDX-License-Identifier: Apache-2.0
//
// The plan that start-up gives the transport between machines: who is where, and where this node's
// memory is mapped. Invariant: stays as it is from open() on.
#ifndef MESHMEM_TRANSPORT_NETWORK_PLAN_HPP_
#define MESHMEM_TRANSPORT_NETWORK_PLAN_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "gpu/device_access.hpp"
#include "transport/transport.hpp"
#include "transport/wire.hpp"

namespace meshmem {

inline constexpr int kLossIsSaid = -1;

struct NetworkPlan {
  int me;                  // of the world
  int n_pes;               // of the world
  std::uint64_t token[2];  // of the job, in its messages
  WireKey key{};           // of the job, in none
  int n_local;             // PEs of this node
  // Memory of this node's PEs, mapped here.
  std::function<std::byte*(int local_index, RemoteSegment segment)> base_of;
  std::size_t segment_bytes[3];  // by RemoteSegment, the same for all PEs; not of device memory
  // Of any PE of the world.
  std::function<int(int pe)> node_of;
  std::function<int(int pe)> local_index_of;
  std::function<int(int pe)> server_of;  // who executes this PE's operations on the node of `pe`
  std::function<std::string(int pe)> wire_address_of;
  std::function<std::string(int pe)> name_of;  // "PE 3 on host b"
  // Shared by this node's PEs: 1 + a far PE that one of them has lost; kLossIsSaid: by a line.
  std::atomic<int>* lost = nullptr;
  // How long the thread that takes in messages sleeps at most, with nothing to do; milliseconds.
  int longest_sleep_ms = 500;
  // Bytes in the device memory of this node's PEs; nullptr: not there. `device` reads and writes
  // them.
  std::function<std::byte*(int local_index, std::size_t offset, std::size_t bytes)> device_place =
      nullptr;
  DeviceAccess* device = nullptr;
};

}  // namespace meshmem

#endif  // MESHMEM_TRANSPORT_NETWORK_PLAN_HPP_
