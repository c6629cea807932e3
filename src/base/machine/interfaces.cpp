// SPDX-License-Identifier: Apache-2.0
//
// As the kernel lists them. An address of IPv6 that holds on one link only is passed over.
#include "base/machine/interfaces.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

namespace meshmem {
namespace {

// The interface of a route to 0.0.0.0; empty: there is none.
std::string interface_of_default_route() {
  std::ifstream routes("/proc/net/route");
  for (std::string line; std::getline(routes, line);) {
    std::istringstream words(line);
    std::string name, dest;
    words >> name >> dest;
    if (dest == "00000000") return name;
  }
  return {};
}

std::size_t bytes_of(const sockaddr& address) {
  if (address.sa_family == AF_INET) return sizeof(sockaddr_in);
  if (address.sa_family != AF_INET6) return 0;
  const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
  return IN6_IS_ADDR_LINKLOCAL(&six.sin6_addr) ? 0 : sizeof(sockaddr_in6);
}

bool is_bridge(const std::string& name) {
  std::error_code ignored;
  return std::filesystem::exists("/sys/class/net/" + name + "/bridge", ignored);
}

// The less the better, for a job over several machines.
int rank_of(const Interface& one) {
  if (one.is_loopback) return 4;
  if (one.is_virtual) return one.leads_outward ? 2 : 3;
  return one.leads_outward ? 0 : 1;
}

std::string names_of(const std::vector<Interface>& all) {
  std::string text;
  for (const Interface& one : all) text += (text.empty() ? "tcp over " : ", tcp over ") + one.name;
  return text.empty() ? "none" : text;
}

}  // namespace

std::string Interface::text() const {
  char buffer[INET6_ADDRSTRLEN] = "";
  const void* at =
      address.ss_family == AF_INET
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in&>(address).sin_addr)
          : &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  const char* text = inet_ntop(address.ss_family, at, buffer, sizeof buffer);
  return text != nullptr ? text : "";
}

std::vector<Interface> interfaces_up() {
  std::vector<Interface> found;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return found;
  const std::string outward = interface_of_default_route();
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* entry = all; entry != nullptr; entry = entry->ifa_next) {
      if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != family) continue;
      const std::size_t bytes = bytes_of(*entry->ifa_addr);
      const std::string name = entry->ifa_name;
      const bool is_known = std::any_of(found.begin(), found.end(),
                                        [&](const Interface& one) { return one.name == name; });
      if (bytes == 0 || is_known || (entry->ifa_flags & IFF_UP) == 0) continue;
      Interface one{.name = name,
                    .is_loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0,
                    .leads_outward = name == outward,
                    .is_virtual = is_bridge(name) || (entry->ifa_flags & IFF_POINTOPOINT) != 0};
      std::memcpy(&one.address, entry->ifa_addr, bytes);
      found.push_back(std::move(one));
    }
  }
  freeifaddrs(all);
  return found;
}

std::optional<Interface> choose_interface(const std::vector<Interface>& all,
                                          const std::string& name, std::string* error) {
  if (!name.empty()) {
    for (const Interface& one : all)
      if (one.name == name) return one;
    *error = fmt::format("TCP finds no network device \"{}\"; it finds {}", name, names_of(all));
    return std::nullopt;
  }
  const auto best = std::min_element(
      all.begin(), all.end(),
      [](const Interface& one, const Interface& other) { return rank_of(one) < rank_of(other); });
  if (best != all.end()) return *best;
  *error = "no network is up; ip link set lo up";
  return std::nullopt;
}

}  // namespace meshmem
