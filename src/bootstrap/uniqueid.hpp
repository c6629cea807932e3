// SPDX-License-Identifier: Apache-2.0
//
// A unique id: where the processes of a job without a launcher meet, and the token that admits
// them. In programs it is 128 bytes (shmemx_uniqueid_t).
// Invariant: unpack_unique_id() returns a complete id or nullopt, whatever the bytes are. Called by
// get_unique_id() in join_job.cpp, by the meeting point (uniqueid_server) and by its clients.
#ifndef MESHMEM_BOOTSTRAP_UNIQUEID_HPP_
#define MESHMEM_BOOTSTRAP_UNIQUEID_HPP_

#include <netinet/in.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace meshmem {

using UniqueIdBytes = std::array<unsigned char, 128>;
using UniqueIdToken = std::array<unsigned char, 32>;

constexpr std::size_t kMostAddresses = 4;

struct UniqueId {
  UniqueIdToken token{};
  std::uint16_t port = 0;
  std::uint16_t n_addresses = 0;  // 0: the job's launcher numbers the PEs
  // How many processes the maker's launcher has started; 0: none, or not known. In a job of that
  // many PEs the launcher numbers the PEs.
  std::uint32_t launched = 0;
  // The addresses of the maker's machine; the ones most likely to work are first. IPv4 addresses
  // are ::ffff:a.b.c.d.
  in6_addr addresses[kMostAddresses] = {};
};

UniqueIdBytes pack_unique_id(const UniqueId& id);
// Returns nullopt if the bytes are not an id of this version of the library.
std::optional<UniqueId> unpack_unique_id(const UniqueIdBytes& bytes);

// Opens the meeting point of a new id, and starts its thread (uniqueid_server.cpp). If that fails,
// returns a text that says why. `interface`: see addresses_of_machine().
std::variant<UniqueId, std::string> open_meeting_point(const std::string& interface);

}  // namespace meshmem

#endif  // MESHMEM_BOOTSTRAP_UNIQUEID_HPP_
