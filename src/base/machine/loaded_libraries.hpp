// SPDX-License-Identifier: Apache-2.0
//
// The libraries that this one, or a program of meshmem, loads when a job needs them. The one that
// speaks to a network is libmeshmem_<network>.so, which loads the network's own libraries.
// Invariant: those of the same build or installation come first. A network's libraries install no
// signal handlers and print nothing, unless the user's variables say so. Called by
// transport/wire_library, core/trace_library and meshmem-info.
#ifndef MESHMEM_BASE_MACHINE_LOADED_LIBRARIES_HPP_
#define MESHMEM_BASE_MACHINE_LOADED_LIBRARIES_HPP_

#include <string>

namespace meshmem {

// For dlopen: beside libmeshmem.so, or where programs of meshmem have it; else the name alone, for
// the loader to find.
std::string place_of_library(const std::string& name);

// Opens the library of a network; never closed again. nullptr, and a line in *error that says what
// to install, where it cannot be. `debug`: the network's own libraries print what they think is
// wrong.
void* open_network_library(const std::string& network, bool debug, std::string* error);

// Whether this machine has a network that UCX serves by more than TCP.
bool has_rdma();

// A symbol of it; nullptr and a line in *error where it has none.
void* network_symbol(void* library, const char* name, std::string* error);

}  // namespace meshmem

#endif  // MESHMEM_BASE_MACHINE_LOADED_LIBRARIES_HPP_
