// SPDX-License-Identifier: Apache-2.0
//
// Makes the Wire of a job: meshmem's own, or that of a library (base/machine/loaded_libraries).
// Called by start-up, in jobs with far PEs only.
#ifndef MESHMEM_TRANSPORT_WIRE_LIBRARY_HPP_
#define MESHMEM_TRANSPORT_WIRE_LIBRARY_HPP_

#include <cstdint>
#include <memory>
#include <string>

#include "base/settings/environment.hpp"
#include "transport/wire.hpp"

namespace meshmem {

// As nodes tell each other.
enum class WireKind : std::uint64_t { none, tcp, ucx };
const char* name_of(WireKind kind);

struct MadeWire {
  WireKind kind = WireKind::none;
  std::unique_ptr<Wire> wire;
  std::string why;  // this one
};

// UCX where there is an RDMA network that it serves, else TCP, unless the user names one.
// `on_one_machine`: all PEs are, so TCP needs no other interface than the loopback. Without a wire
// a line is in *error, of the kind.
MadeWire make_wire(NetworkKind wanted, bool on_one_machine, const WireRequest& request,
                   std::string* error);

// request.version is filled in. nullptr and a line in *error if it cannot be.
std::unique_ptr<Wire> try_make_wire(WireKind kind, const WireRequest& request, std::string* error);

}  // namespace meshmem

#endif  // MESHMEM_TRANSPORT_WIRE_LIBRARY_HPP_
