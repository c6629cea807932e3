// SPDX-License-Identifier: Apache-2.0
//
// Sockets by which processes of several machines tell each other that a job starts or ends.
// Invariant: nothing here reads or writes a byte. Called by the meeting point of a unique id and
// its clients, by both ends of the record that PE 0 keeps for oshrun, and by the PMI-1 client.
#ifndef MESHMEM_BASE_MACHINE_SOCKETS_HPP_
#define MESHMEM_BASE_MACHINE_SOCKETS_HPP_

#include <chrono>
#include <cstdint>
#include <string>

namespace meshmem {

// Listens at all addresses of this machine, of IPv4 alone where the kernel has no IPv6. Returns a
// descriptor that does not block, or -1 and errno.
int listen_at_any_address(std::uint16_t* port);

// `address` and `port` are numbers. Returns a descriptor that blocks, or -1 and errno: ETIMEDOUT if
// nobody has answered within `patience`.
int connect_to_address(const std::string& address, const std::string& port,
                       std::chrono::milliseconds patience);

// Waits for one of the poll(2) events; signals do not end the wait. False: `end` has passed.
bool wait_for_events(int fd, short events, std::chrono::steady_clock::time_point end);

}  // namespace meshmem

#endif  // MESHMEM_BASE_MACHINE_SOCKETS_HPP_
