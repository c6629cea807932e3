// SPDX-License-Identifier: Apache-2.0
//
// The networks by which PEs of several machines would reach each other, and where there are none,
// what is missing.
// Invariant: only asks; connects to nobody. Called by meshmem-info.
#ifndef MESHMEM_INFO_NETWORKS_HPP_
#define MESHMEM_INFO_NETWORKS_HPP_

#include "info/devices.hpp"

namespace meshmem {

void print_networks(const PrintRow& print_row);

}  // namespace meshmem

#endif  // MESHMEM_INFO_NETWORKS_HPP_
