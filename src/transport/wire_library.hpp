// SPDX-License-Identifier: Apache-2.0
//
// Makes the job's Wire: the TCP wire, or the UCX wire of libmeshmem_ucx.so, which it loads.
// Called at start-up, only in jobs with far PEs.
#ifndef MESHMEM_TRANSPORT_WIRE_LIBRARY_HPP_
#define MESHMEM_TRANSPORT_WIRE_LIBRARY_HPP_

#include <cstdint>
#include <memory>
#include <string>

#include "base/settings/environment.hpp"
#include "transport/wire.hpp"

namespace meshmem {

// The values are sent between nodes, which compare them at start-up.
enum class WireKind : std::uint64_t { none, tcp, ucx };
const char* name_of(WireKind kind);

struct MadeWire {
  WireKind kind = WireKind::none;
  std::unique_ptr<Wire> wire;
  std::string why;  // why this kind, for a debug line
};

// Chooses the kind that the user named, else UCX if it works on an RDMA network here, else TCP.
// `on_one_machine`: all PEs are on this machine, so TCP uses the loopback, unless the user named an
// interface. On failure `wire` is nullptr, and *error says why this `kind` cannot be used.
MadeWire make_wire(NetworkKind wanted, bool on_one_machine, const WireRequest& request,
                   std::string* error);

// Sets request.version itself. On failure returns nullptr, and *error has a line.
std::unique_ptr<Wire> try_make_wire(WireKind kind, const WireRequest& request, std::string* error);

}  // namespace meshmem

#endif  // MESHMEM_TRANSPORT_WIRE_LIBRARY_HPP_
