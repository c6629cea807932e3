// SPDX-License-Identifier: Apache-2.0
//
// The networks by which PEs of several machines would reach each other, or what is missing for one.
// Invariant: makes no connection. A network's library that crashes or hangs because a system call
// fails does not end this program. Called by meshmem-info.
#ifndef MESHMEM_INFO_NETWORKS_HPP_
#define MESHMEM_INFO_NETWORKS_HPP_

#include <string>
#include <vector>

namespace meshmem {

struct NetworkRow {
  std::string name, about;
};

// Forks, so it is called before any call to a device's runtime, which a fork would break.
std::vector<NetworkRow> ask_networks();

}  // namespace meshmem

#endif  // MESHMEM_INFO_NETWORKS_HPP_
