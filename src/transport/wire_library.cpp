// SPDX-License-Identifier: Apache-2.0
//
// Loads, asks, and says why there is no wire.
#include "transport/wire_library.hpp"

#include "base/network_library.hpp"

namespace meshmem {

std::unique_ptr<Wire> try_make_wire(const std::string& network, const WireRequest& request,
                                    std::string* error) {
  void* library = open_network_library(network, request.debug, error);
  if (library == nullptr) return nullptr;
  void* symbol = network_symbol(library, kMakeWireSymbol, error);
  if (symbol == nullptr) return nullptr;
  WireRequest asked = request;
  asked.version = kWireVersion;
  return std::unique_ptr<Wire>(reinterpret_cast<MakeWire>(symbol)(asked, error));
}

}  // namespace meshmem
