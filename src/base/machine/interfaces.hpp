// SPDX-License-Identifier: Apache-2.0
//
// The interfaces of this machine that IP goes by, and which of them a job takes.
// Called by the wire of TCP, by meshmem-info and oshrun, and by both ends of a unique id.
#ifndef MESHMEM_BASE_MACHINE_INTERFACES_HPP_
#define MESHMEM_BASE_MACHINE_INTERFACES_HPP_

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace meshmem {

// One of its addresses is kept: IPv4 if it has one.
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

// The addresses, at most `most`, at which other machines may reach this one, the likeliest first:
// those of `interface` if it exists. The loopback's addresses if no other interface is up. IPv4 is
// ::ffff:a.b.c.d.
std::vector<in6_addr> addresses_of_machine(const std::string& interface, std::size_t most);

std::string text_of_address(const in6_addr& address);  // "10.0.0.1"

inline constexpr std::size_t kMostIpBytes = 16;

// The IP addresses of a machine, by which other nodes know its connections.
struct MachineAddresses {
  std::uint64_t network = 0;     // the same for nodes that share network interfaces; 0: unknown
  std::vector<std::string> all;  // 4 or 16 bytes each, as the network has them
};

MachineAddresses own_addresses();

// From where the other nodes may connect; ascending, each once. No node is admitted by an address
// that this machine has too, as 127.0.0.1, unless it is on this machine. So strangers of this
// machine stay out.
std::vector<std::string> addresses_to_admit(const MachineAddresses& own,
                                            const std::vector<MachineAddresses>& others);

}  // namespace meshmem

#endif  // MESHMEM_BASE_MACHINE_INTERFACES_HPP_
