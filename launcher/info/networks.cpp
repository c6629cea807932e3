// SPDX-License-Identifier: Apache-2.0
//
// Networks as the library of UCX shows them. Invariant: says the same as start-up does:
// MESHMEM_NETWORK_DEVICE, else UCX's own variables, else UCX's choice.
#include "info/networks.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "base/environment.hpp"
#include "base/network_library.hpp"
#include "transport/wire.hpp"

namespace meshmem {
namespace {

void print_setting(const PrintRow& print_row, const char* name) {
  const char* value = std::getenv(name);
  if (value != nullptr) print_row(name, fmt::format("\"{}\"", value));
}

}  // namespace

void print_networks(const PrintRow& print_row) {
  Environment environment;
  (void)parse_environment(environment, std::getenv);  // a bad value is reported elsewhere
  if (environment.network == NetworkKind::none) {
    print_row("not used", "MESHMEM_NETWORK is none");
  }
  std::string error;
  void* library = open_network_library("ucx", false, &error);
  void* symbol =
      library == nullptr ? nullptr : network_symbol(library, kListNetworksSymbol, &error);
  if (symbol == nullptr) return print_row("none", error);
  const auto list = reinterpret_cast<ListNetworks>(symbol);
  if (!list(environment.network_device.c_str(), print_row, &error)) print_row("none", error);
  for (const char* name : {"UCX_NET_DEVICES", "UCX_TLS"}) print_setting(print_row, name);
}

}  // namespace meshmem
