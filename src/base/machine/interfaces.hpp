// SPDX-License-Identifier: Apache-2.0
//
// The IP interfaces of this machine, and which of them a job uses.
// Called by the TCP wire, by meshmem-info and oshrun, and by both ends of a unique id.
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

// An interface with one of its addresses: an IPv4 address if it has one.
struct Interface {
  std::string name;
  bool is_loopback = false;
  bool leads_outward = false;  // the default route uses it
  bool is_virtual = false;     // a bridge of containers or virtual machines, or a tunnel
  sockaddr_storage address{};  // its port is 0
  std::string text() const;    // of the address
};

// Returns the interfaces that are up.
std::vector<Interface> interfaces_up();

// Returns the named interface. Without a name: one that is not virtual, then a virtual one, then
// the loopback, and of equal ones that of the default route. nullopt and a line in *error if there
// is none.
std::optional<Interface> choose_interface(const std::vector<Interface>& all,
                                          const std::string& name, std::string* error);

// Up to `most` addresses at which other machines may reach this one: those of `interface` if it is
// up, else those of all interfaces but the loopback, else the loopback's. The likeliest come first.
// IPv4 is ::ffff:a.b.c.d.
std::vector<in6_addr> addresses_of_machine(const std::string& interface, std::size_t most);

std::string text_of_address(const in6_addr& address);  // "10.0.0.1"

inline constexpr std::size_t kMostIpBytes = 16;

// The IP addresses of a machine, by which other nodes know its connections.
struct MachineAddresses {
  std::uint64_t network = 0;     // the same for nodes that share network interfaces; 0: unknown
  std::vector<std::string> all;  // 4 or 16 bytes each, as the network has them
};

MachineAddresses own_addresses();

// The addresses from which the other nodes may connect; ascending, each once. An address that this
// machine has too, such as 127.0.0.1, admits only nodes on this machine. If there are none,
// strangers on this machine stay out.
std::vector<std::string> addresses_to_admit(const MachineAddresses& own,
                                            const std::vector<MachineAddresses>& others);

}  // namespace meshmem

#endif  // MESHMEM_BASE_MACHINE_INTERFACES_HPP_
