// SPDX-License-Identifier: Apache-2.0
//
// Interfaces and addresses as the kernel lists them.
#include "base/machine/interfaces.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/machine/machine.hpp"

namespace meshmem {
namespace {

// The interface of the default route, or "" without a default route.
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

struct AddressOfInterface {
  std::string name;
  unsigned flags;
  sockaddr_storage address{};  // its port is 0
};

// Addresses of interfaces that are up: IPv4 before IPv6, and each in the kernel's order, so that
// interfaces that containers have made come last. Link-local addresses of IPv6 are left out, since
// other machines cannot use them without the name of the link.
std::vector<AddressOfInterface> list_addresses() {
  std::vector<AddressOfInterface> found;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return found;
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* entry = all; entry != nullptr; entry = entry->ifa_next) {
      if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != family ||
          (entry->ifa_flags & IFF_UP) == 0)
        continue;
      const auto& six = reinterpret_cast<const sockaddr_in6&>(*entry->ifa_addr);
      if (family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&six.sin6_addr)) continue;
      AddressOfInterface one{.name = entry->ifa_name, .flags = entry->ifa_flags};
      std::memcpy(&one.address, entry->ifa_addr,
                  family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
      found.push_back(std::move(one));
    }
  }
  freeifaddrs(all);
  return found;
}

// An address of IPv4 becomes ::ffff:a.b.c.d.
in6_addr as_ipv6(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET6)
    return reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  in6_addr mapped{};
  mapped.s6_addr[10] = mapped.s6_addr[11] = 0xff;
  std::memcpy(mapped.s6_addr + 12, &reinterpret_cast<const sockaddr_in&>(address).sin_addr,
              sizeof(in_addr));
  return mapped;
}

bool is_bridge(const std::string& name) {
  std::error_code ignored;
  return std::filesystem::exists("/sys/class/net/" + name + "/bridge", ignored);
}

// A lower number is better for a job over several machines.
int preference_of(const Interface& one) {
  if (one.is_loopback) return 4;
  if (one.is_virtual) return one.leads_outward ? 2 : 3;
  return one.leads_outward ? 0 : 1;
}

std::string names_of(const std::vector<Interface>& all) {
  std::string text;
  for (const Interface& one : all) text += (text.empty() ? "tcp over " : ", tcp over ") + one.name;
  return text.empty() ? "none" : text;
}

// Returns the bytes of an IP address; empty if `address` is not one.
std::string bytes_of(const sockaddr* address) {
  const auto text = [](const auto& ip) {
    return std::string(reinterpret_cast<const char*>(&ip), sizeof ip);
  };
  if (address == nullptr) return {};
  if (address->sa_family == AF_INET)
    return text(reinterpret_cast<const sockaddr_in*>(address)->sin_addr);
  if (address->sa_family == AF_INET6)
    return text(reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
  return {};
}

std::uint64_t name_of_network() {
  struct stat space {};
  const std::string boot = boot_id();
  if (boot.empty() || stat("/proc/self/ns/net", &space) != 0) return 0;
  return hash_of(boot + " " + std::to_string(space.st_ino));
}

bool has(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

std::string text_of_address(const in6_addr& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (IN6_IS_ADDR_V4MAPPED(&address))
    inet_ntop(AF_INET, address.s6_addr + 12, text, sizeof text);
  else
    inet_ntop(AF_INET6, &address, text, sizeof text);
  return text;
}

std::string Interface::text() const { return text_of_address(as_ipv6(address)); }

std::vector<Interface> interfaces_up() {
  std::vector<Interface> found;
  const std::string outward = interface_of_default_route();
  for (const AddressOfInterface& one : list_addresses()) {
    const bool is_known = std::any_of(
        found.begin(), found.end(), [&](const Interface& other) { return other.name == one.name; });
    if (is_known) continue;
    found.push_back({.name = one.name,
                     .is_loopback = (one.flags & IFF_LOOPBACK) != 0,
                     .leads_outward = one.name == outward,
                     .is_virtual = is_bridge(one.name) || (one.flags & IFF_POINTOPOINT) != 0,
                     .address = one.address});
  }
  return found;
}

std::vector<in6_addr> addresses_of_machine(const std::string& interface, std::size_t most) {
  std::vector<in6_addr> of_interface, others, of_loopback;
  for (const auto& [name, flags, address] : list_addresses()) {
    if (name == interface) of_interface.push_back(as_ipv6(address));
    ((flags & IFF_LOOPBACK) != 0 ? of_loopback : others).push_back(as_ipv6(address));
  }
  std::vector<in6_addr>& found = !of_interface.empty() ? of_interface
                                 : !others.empty()     ? others
                                                       : of_loopback;
  if (found.size() > most) found.resize(most);
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
  const auto best =
      std::min_element(all.begin(), all.end(), [](const Interface& one, const Interface& other) {
        return preference_of(one) < preference_of(other);
      });
  if (best != all.end()) return *best;
  *error = "no network is up; ip link set lo up";
  return std::nullopt;
}

MachineAddresses own_addresses() {
  MachineAddresses own{.network = name_of_network(), .all = {}};
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return own;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    std::string bytes = bytes_of(one->ifa_addr);
    if (!bytes.empty() && !has(own.all, bytes)) own.all.push_back(std::move(bytes));
  }
  freeifaddrs(list);
  return own;
}

std::vector<std::string> addresses_to_admit(const MachineAddresses& own,
                                            const std::vector<MachineAddresses>& others) {
  std::vector<std::string> admitted;
  for (const MachineAddresses& other : others) {
    const bool is_here = other.network != 0 && other.network == own.network;
    for (const std::string& address : other.all)
      if (is_here || !has(own.all, address)) admitted.push_back(address);
  }
  std::sort(admitted.begin(), admitted.end());
  admitted.erase(std::unique(admitted.begin(), admitted.end()), admitted.end());
  return admitted;
}

}  // namespace meshmem
