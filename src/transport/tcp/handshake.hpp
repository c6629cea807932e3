// SPDX-License-Identifier: Apache-2.0
//
// The handshake before the first parcel, by which each end proves that it has the job's key. The
// accepting end sends a greeting with its nonce. The connecting end sends a claim, and the
// accepting end an answer. A proof is a MAC over its maker's role, both nonces and both addresses,
// so it works once only.
// Invariant: the accepting end sends nothing that depends on the key before the claim is proved.
// Used by tcp/connection.
#ifndef MESHMEM_TRANSPORT_TCP_HANDSHAKE_HPP_
#define MESHMEM_TRANSPORT_TCP_HANDSHAKE_HPP_

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/machine/hmac.hpp"
#include "transport/wire.hpp"

namespace meshmem::tcp {

// Where a process listens, and 64 random bits that tell it from earlier processes there.
using Address = std::array<char, 32>;
inline std::string_view as_text(const Address& address) { return {address.data(), address.size()}; }
// `at`: an interface's address, with the port. Draws the random bits.
Address make_address(const sockaddr_storage& at);
// Fills *at and returns its length; 0: `address` is invalid.
socklen_t read_address(std::string_view address, sockaddr_storage* at);

struct Greeting {
  std::array<char, 8> magic;
  std::array<char, 32> nonce;
};
struct Claim {
  std::array<char, 8> magic;
  std::array<char, 32> nonce;
  Address address;
  Digest proof;
};
static_assert(sizeof(Greeting) == 40 && sizeof(Claim) == 104 && sizeof(Digest) == 32);

Greeting make_greeting();
bool is_greeting(const Greeting& greeting);
// The claim of a process that connects to `accepting`.
Claim make_claim(const WireKey& key, const Greeting& greeting, const Address& connecting,
                 const Address& accepting);
bool is_proved(const WireKey& key, const Greeting& greeting, const Claim& claim,
               const Address& accepting);
// The accepting end's proof.
Digest make_answer(const WireKey& key, const Greeting& greeting, const Claim& claim,
                   const Address& accepting);

}  // namespace meshmem::tcp

#endif  // MESHMEM_TRANSPORT_TCP_HANDSHAKE_HPP_
