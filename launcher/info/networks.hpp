// SPDX-License-Identifier: Apache-2.0
//
// The networks by which PEs of several machines would reach each other, and where there are none,
// what is missing.
// Invariant: only asks; connects to nobody. A network's library that crashes or hangs where a
// system call fails does not take this program along. Called by meshmem-info.
#ifndef MESHMEM_INFO_NETWORKS_HPP_
#define MESHMEM_INFO_NETWORKS_HPP_

#include <string>
#include <vector>

namespace meshmem {

struct NetworkRow {
  std::string name, about;
};

// Called before devices are asked for: their runtimes do not outlive a fork.
std::vector<NetworkRow> ask_networks();

}  // namespace meshmem

#endif  // MESHMEM_INFO_NETWORKS_HPP_
