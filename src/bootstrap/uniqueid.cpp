// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a unique id, and the addresses that go into it.
#include "bootstrap/uniqueid.hpp"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>

namespace meshmem {
namespace {

// The last letter is the version of the bytes and of the messages (uniqueid_messages.hpp).
constexpr std::string_view kMagic = "meshmem2";

struct Layout {
  char magic[8];
  unsigned char token[32];
  std::uint16_t port;
  std::uint16_t n_addresses;
  std::uint32_t launched;
  in6_addr addresses[kMostAddresses];
};
static_assert(sizeof(Layout) <= sizeof(UniqueIdBytes) && sizeof(UniqueIdToken) == 32);

in6_addr as_ipv6(const in_addr& address) {
  in6_addr mapped{};
  mapped.s6_addr[10] = mapped.s6_addr[11] = 0xff;
  std::memcpy(mapped.s6_addr + 12, &address, sizeof address);
  return mapped;
}

std::optional<in6_addr> address_of(const ifaddrs& entry) {
  if (entry.ifa_addr == nullptr || (entry.ifa_flags & IFF_UP) == 0) return std::nullopt;
  if (entry.ifa_addr->sa_family == AF_INET)
    return as_ipv6(reinterpret_cast<const sockaddr_in*>(entry.ifa_addr)->sin_addr);
  if (entry.ifa_addr->sa_family != AF_INET6) return std::nullopt;
  const in6_addr& address = reinterpret_cast<const sockaddr_in6*>(entry.ifa_addr)->sin6_addr;
  if (IN6_IS_ADDR_LINKLOCAL(&address)) return std::nullopt;  // it says nothing without its link
  return address;
}

}  // namespace

UniqueIdBytes pack_unique_id(const UniqueId& id) {
  Layout layout{};
  std::copy(kMagic.begin(), kMagic.end(), layout.magic);
  std::copy(id.token.begin(), id.token.end(), layout.token);
  layout.port = id.port;
  layout.n_addresses = static_cast<std::uint16_t>(id.addresses.size());
  layout.launched = id.launched;
  std::copy(id.addresses.begin(), id.addresses.end(), layout.addresses);
  UniqueIdBytes bytes{};
  std::memcpy(bytes.data(), &layout, sizeof layout);
  return bytes;
}

std::optional<UniqueId> unpack_unique_id(const UniqueIdBytes& bytes) {
  Layout layout;
  std::memcpy(&layout, bytes.data(), sizeof layout);
  if (std::string_view(layout.magic, sizeof layout.magic) != kMagic) return std::nullopt;
  if (layout.n_addresses > kMostAddresses) return std::nullopt;
  UniqueId id;
  std::copy(std::begin(layout.token), std::end(layout.token), id.token.begin());
  id.port = layout.port;
  id.launched = layout.launched;
  id.addresses.assign(layout.addresses, layout.addresses + layout.n_addresses);
  return id;
}

// IPv4 before IPv6, and each in the kernel's order: interfaces that containers have made come last.
std::vector<in6_addr> addresses_of_machine(const std::string& interface) {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> entries(first, &freeifaddrs);
  std::vector<in6_addr> wished, others, own;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    const std::optional<in6_addr> address = address_of(*entry);
    if (!address) continue;
    if (interface == entry->ifa_name) wished.push_back(*address);
    ((entry->ifa_flags & IFF_LOOPBACK) != 0 ? own : others).push_back(*address);
  }
  std::vector<in6_addr>& found = !wished.empty() ? wished : !others.empty() ? others : own;
  std::stable_partition(found.begin(), found.end(),
                        [](const in6_addr& address) { return IN6_IS_ADDR_V4MAPPED(&address); });
  if (found.size() > kMostAddresses) found.resize(kMostAddresses);
  return found;
}

std::string text_of_address(const in6_addr& address, std::uint16_t port) {
  char text[INET6_ADDRSTRLEN] = "";
  if (IN6_IS_ADDR_V4MAPPED(&address))
    inet_ntop(AF_INET, address.s6_addr + 12, text, sizeof text);
  else
    inet_ntop(AF_INET6, &address, text, sizeof text);
  return fmt::format("{} port {}", static_cast<const char*>(text), port);
}

}  // namespace meshmem
