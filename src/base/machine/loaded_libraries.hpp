// SPDX-License-Identifier: Apache-2.0
//
// Loads libraries that only some jobs need, for libmeshmem.so and the programs of meshmem. The one
// that speaks to a network is libmeshmem_<network>.so, which loads the network's own libraries.
// Invariant: libraries of the same build or installation come first. A network's libraries install
// no signal handlers and print nothing, unless the user's variables say so. Called by
// transport/wire_library, core/trace_library and meshmem-info.
#ifndef MESHMEM_BASE_MACHINE_LOADED_LIBRARIES_HPP_
#define MESHMEM_BASE_MACHINE_LOADED_LIBRARIES_HPP_

#include <string>

namespace meshmem {

// A path for dlopen(): in meshmem/<version of the soname>/ below the folder of libraries. If it
// does not exist, the name alone, which the loader looks up.
std::string place_of_library(const std::string& name);

// Opens the library of a network, and never closes it. On failure returns nullptr, and a line in
// *error says what to install. `debug`: the network's own libraries may print warnings.
void* open_network_library(const std::string& network, bool debug, std::string* error);

// Whether this machine has a network that UCX serves by more than TCP.
bool has_rdma();

// Returns a symbol of such a library. If the library does not have it, returns nullptr, and a line
// in *error.
void* network_symbol(void* library, const char* name, std::string* error);

}  // namespace meshmem

#endif  // MESHMEM_BASE_MACHINE_LOADED_LIBRARIES_HPP_
