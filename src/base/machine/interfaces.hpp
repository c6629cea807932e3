// SPDX-License-Identifier: Apache-2.0
//
// The interfaces of this machine that IP goes by, and which of them a job takes.
// Invariant: one address each, of IPv4 where there is one. Called by the wire of TCP and by
// meshmem-info.
#ifndef MESHMEM_BASE_MACHINE_INTERFACES_HPP_
#define MESHMEM_BASE_MACHINE_INTERFACES_HPP_

#include <sys/socket.h>

#include <optional>
#include <string>
#include <vector>

namespace meshmem {

struct Interface {
  std::string name;
  bool is_loopback = false;
  bool leads_outward = false;  // the default route goes by it
  bool is_virtual = false;     // a bridge of containers or virtual machines, or a tunnel
  sockaddr_storage address{};  // its port is 0
  std::string text() const;    // of the address
};

// Those that are up.
std::vector<Interface> interfaces_up();

// The named one; else that of the default route, another one to other machines, or the loopback.
// nullopt and a line in *error if there is none.
std::optional<Interface> choose_interface(const std::vector<Interface>& all,
                                          const std::string& name, std::string* error);

}  // namespace meshmem

#endif  // MESHMEM_BASE_MACHINE_INTERFACES_HPP_
