// SPDX-License-Identifier: Apache-2.0
//
// The two functions that libmeshmem_ucx.so exports: one makes a wire, one lists the networks for
// meshmem-info.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <string>
#include <vector>

#include "transport/ucx/context.hpp"
#include "transport/ucx/ucx_wire.hpp"

namespace meshmem {
namespace {

// "tcp over eth0" -> "eth0"
std::string device_of(const std::string& network) { return network.substr(network.rfind(' ') + 1); }

// An interface with an IPv4 address; otherwise `address` is empty.
struct Interface {
  std::string address;
  bool is_loopback = false;
};

Interface interface_of(const std::string& network) {
  const std::string name = device_of(network);
  Interface found;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return found;
  for (const ifaddrs* entry = all; entry != nullptr && found.address.empty();
       entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) continue;
    if (name != entry->ifa_name) continue;
    char buffer[INET_ADDRSTRLEN] = "";
    const auto* address = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
    found.address = inet_ntop(AF_INET, &address->sin_addr, buffer, sizeof buffer);
    found.is_loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0;
  }
  freeifaddrs(all);
  return found;
}

// Returns those of `networks` that UCX uses to a peer that all of them reach. UCX uses the same to
// this process itself, so this function asks about that. Returns all of `networks` if UCX does not
// say.
std::vector<std::string> networks_used_of(const std::vector<std::string>& networks) {
  if (networks.size() < 2) return networks;
  std::vector<std::string> devices;
  for (const std::string& network : networks) devices.push_back(device_of(network));
  std::string error;
  const UcxContext context = open_context(fmt::format("{}", fmt::join(devices, ",")), &error);
  std::vector<std::string> taken = context ? networks_to_itself(context.get()) : networks;
  std::erase_if(taken, [&](const std::string& network) {
    return std::find(networks.begin(), networks.end(), network) == networks.end();
  });
  return taken.empty() ? networks : taken;
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
    const char* device, const meshmem::NetworkVisitor& visit, std::string* error) {
  const meshmem::UcxContext all = meshmem::open_context("all", error);
  const meshmem::UcxContext wanted = meshmem::open_context(device, error);
  visit("UCX", meshmem::ucx_version());
  if (all == nullptr || wanted == nullptr) return false;
  const std::vector<std::string> networks = meshmem::networks_of(all.get());
  const std::vector<std::string> chosen = meshmem::networks_of(wanted.get());
  const auto is_in = [](const std::vector<std::string>& some, const std::string& network) {
    return std::find(some.begin(), some.end(), network) != some.end();
  };
  std::vector<std::string> outward = chosen;
  std::erase_if(outward, [](const std::string& network) {
    return meshmem::interface_of(network).is_loopback;
  });
  const std::vector<std::string> taken = meshmem::networks_used_of(outward);
  for (const std::string& network : networks) {
    const std::string address = meshmem::interface_of(network).address;
    const char* use = is_in(taken, network)     ? "used where it reaches a peer"
                      : is_in(outward, network) ? "used where the others do not reach a peer"
                      : is_in(chosen, network)  ? "used between PEs of this machine alone"
                                                : "not used";
    visit(network, fmt::format("{}{}{}", address, address.empty() ? "" : ", ", use));
  }
  return true;
}
