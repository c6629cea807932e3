// SPDX-License-Identifier: Apache-2.0
//
// Where the libraries are that this one, or a program of meshmem, loads when a job needs them.
// Invariant: those of the same build or installation come first.
#ifndef MESHMEM_BASE_MACHINE_LIBRARY_PLACE_HPP_
#define MESHMEM_BASE_MACHINE_LIBRARY_PLACE_HPP_

#include <string>

namespace meshmem {

// For dlopen: beside libmeshmem.so, or where programs of meshmem have it; else the name alone, for
// the loader to find.
std::string place_of_library(const std::string& name);

}  // namespace meshmem

#endif  // MESHMEM_BASE_MACHINE_LIBRARY_PLACE_HPP_
