// SPDX-License-Identifier: Apache-2.0
//
// What libmeshmem_ucx.so shows: a maker of wires, and a list of networks for meshmem-info.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>

#include <algorithm>
#include <string>
#include <vector>

#include "transport/ucx/context.hpp"
#include "transport/ucx/ucx_wire.hpp"

namespace meshmem {
namespace {

// "tcp over eth0" -> "192.0.2.2"; empty for what is no interface of IP.
std::string ip_address_of(const std::string& network) {
  const std::string name = network.substr(network.rfind(' ') + 1);
  std::string text;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return text;
  for (const ifaddrs* entry = all; entry != nullptr && text.empty(); entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) continue;
    if (name != entry->ifa_name) continue;
    char buffer[INET_ADDRSTRLEN] = "";
    const auto* address = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
    text = inet_ntop(AF_INET, &address->sin_addr, buffer, sizeof buffer);
  }
  freeifaddrs(all);
  return text;
}

std::string about(const std::string& network, const std::vector<std::string>& chosen) {
  const bool is_chosen = std::find(chosen.begin(), chosen.end(), network) != chosen.end();
  const std::string address = ip_address_of(network);
  return fmt::format("{}{}{}", address, address.empty() ? "" : ", ",
                     is_chosen ? "used where it reaches a peer" : "not used");
}

}  // namespace
}  // namespace meshmem

extern "C" [[gnu::visibility("default")]] meshmem::Wire* meshmem_make_wire(
    const meshmem::WireRequest& request, std::string* error) {
  if (request.version != meshmem::kWireVersion) {
    *error = fmt::format("libmeshmem_ucx.so is of another version of meshmem ({}, not {})",
                         meshmem::kWireVersion, request.version);
    return nullptr;
  }
  return meshmem::UcxWire::open(request, error).release();
}

extern "C" [[gnu::visibility("default")]] bool meshmem_list_networks(
    const char* device, const meshmem::TellNetwork& tell, std::string* error) {
  const meshmem::UcxContext all = meshmem::open_context("all", error);
  const meshmem::UcxContext wanted = meshmem::open_context(device, error);
  tell("UCX", meshmem::ucx_version());
  if (all == nullptr || wanted == nullptr) return false;
  const std::vector<std::string> chosen = meshmem::networks_of(wanted.get());
  for (const std::string& network : meshmem::networks_of(all.get())) {
    tell(network, meshmem::about(network, chosen));
  }
  return true;
}
