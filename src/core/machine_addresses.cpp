// SPDX-License-Identifier: Apache-2.0
//
// The kernel lists its interfaces' addresses. Nodes share them if they are in one network namespace
// since the same start of the machine.
#include "core/machine_addresses.hpp"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <string_view>
#include <utility>

namespace meshmem {
namespace {

// Empty: no IP address.
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

// FNV-1a, which is the same in every build.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return hash;
}

std::uint64_t name_of_network() {
  struct stat space {};
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  if (boot.empty() || stat("/proc/self/ns/net", &space) != 0) return 0;
  return hash_of(boot + " " + std::to_string(space.st_ino));
}

bool has(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

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
