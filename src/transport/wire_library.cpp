// SPDX-License-Identifier: Apache-2.0
//
// Chooses a wire, loads its library if it has one, and says why there is no wire.
#include "transport/wire_library.hpp"

#include <fmt/format.h>

#include "base/machine/loaded_libraries.hpp"
#include "transport/tcp/tcp_wire.hpp"

namespace meshmem {
namespace {

std::unique_ptr<Wire> try_make_ucx(const WireRequest& request, std::string* error) {
  void* library = open_network_library("ucx", request.debug, error);
  if (library == nullptr) return nullptr;
  void* symbol = network_symbol(library, kMakeWireSymbol, error);
  if (symbol == nullptr) return nullptr;
  WireRequest asked = request;
  asked.version = kWireVersion;
  return std::unique_ptr<Wire>(reinterpret_cast<MakeWire>(symbol)(asked, error));
}

}  // namespace

const char* name_of(WireKind kind) {
  return kind == WireKind::tcp ? "tcp" : kind == WireKind::ucx ? "ucx" : "none";
}

std::unique_ptr<Wire> try_make_wire(WireKind kind, const WireRequest& request, std::string* error) {
  if (kind == WireKind::ucx) return try_make_ucx(request, error);
  return TcpWire::open(request, error);
}

MadeWire make_wire(NetworkKind wanted, bool on_one_machine, const WireRequest& request,
                   std::string* error) {
  MadeWire made{.kind = WireKind::tcp, .wire = nullptr, .why = "MESHMEM_NETWORK names it"};
  WireRequest asked = request;
  if (wanted == NetworkKind::ucx) made.kind = WireKind::ucx;
  if (wanted == NetworkKind::automatic) {
    made.why = on_one_machine ? "the nodes are of this machine"
                              : "there is no RDMA network on this machine";
    if (!on_one_machine && has_rdma()) {
      asked.rdma_only = true;
      made.wire = try_make_wire(WireKind::ucx, asked, error);
      if (made.wire != nullptr) {
        made.kind = WireKind::ucx;
        made.why = "there is an RDMA network on this machine";
        return made;
      }
      made.why = fmt::format("the RDMA network of this machine cannot be used: {}", *error);
      error->clear();
    }
  }
  const bool names_none = asked.device == nullptr || asked.device[0] == '\0';
  if (made.kind == WireKind::tcp && on_one_machine && names_none) asked.device = "lo";
  made.wire = try_make_wire(made.kind, asked, error);
  return made;
}

}  // namespace meshmem
