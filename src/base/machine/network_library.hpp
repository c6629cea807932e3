// SPDX-License-Identifier: Apache-2.0
//
// Opens the library that speaks to a network, libmeshmem_<network>.so, and through it the network's
// own libraries. Jobs on one machine never load it.
// Invariant: what it loads installs no signal handlers and prints nothing, unless the user's
// variables say so. Called by transport/wire_library and meshmem-info.
#ifndef MESHMEM_BASE_MACHINE_NETWORK_LIBRARY_HPP_
#define MESHMEM_BASE_MACHINE_NETWORK_LIBRARY_HPP_

#include <string>

namespace meshmem {

// From the folder of the library (a program's: its lib/), else from the loader's path; never closed
// again. nullptr, and a line in *error that says what to install, where it cannot be. `debug`: the
// network's own libraries print what they think is wrong.
void* open_network_library(const std::string& network, bool debug, std::string* error);

// Whether this machine has a network that UCX serves by more than TCP.
bool has_rdma();

// A symbol of it; nullptr and a line in *error where it has none.
void* network_symbol(void* library, const char* name, std::string* error);

}  // namespace meshmem

#endif  // MESHMEM_BASE_MACHINE_NETWORK_LIBRARY_HPP_
