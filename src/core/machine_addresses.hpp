// SPDX-License-Identifier: Apache-2.0
//
// The IP addresses of a node's machine, by which other nodes know its connections.
// Invariant: no node is admitted by an address that this machine has too, as 127.0.0.1, unless it
// is on this machine. So strangers of this machine stay out. Used by start-up.
#ifndef MESHMEM_CORE_MACHINE_ADDRESSES_HPP_
#define MESHMEM_CORE_MACHINE_ADDRESSES_HPP_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace meshmem {

inline constexpr std::size_t kMostIpBytes = 16;

struct MachineAddresses {
  std::uint64_t network = 0;     // the same for nodes that share network interfaces; 0: unknown
  std::vector<std::string> all;  // 4 or 16 bytes each, as the network has them
};

MachineAddresses own_addresses();

// From where the other nodes may connect; ascending, each once.
std::vector<std::string> addresses_to_admit(const MachineAddresses& own,
                                            const std::vector<MachineAddresses>& others);

}  // namespace meshmem

#endif  // MESHMEM_CORE_MACHINE_ADDRESSES_HPP_
