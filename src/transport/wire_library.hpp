// SPDX-License-Identifier: Apache-2.0
//
// Makes the Wire of a network by the library that has it (base/network_library).
// Called by start-up, in jobs with far PEs only.
#ifndef MESHMEM_TRANSPORT_WIRE_LIBRARY_HPP_
#define MESHMEM_TRANSPORT_WIRE_LIBRARY_HPP_

#include <memory>
#include <string>

#include "transport/wire.hpp"

namespace meshmem {

// `network`: "ucx". request.version is filled in. nullptr and a line in *error if it cannot be.
std::unique_ptr<Wire> try_make_wire(const std::string& network, const WireRequest& request,
                                    std::string* error);

}  // namespace meshmem

#endif  // MESHMEM_TRANSPORT_WIRE_LIBRARY_HPP_
