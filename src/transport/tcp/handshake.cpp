// SPDX-License-Identifier: Apache-2.0
//
// Makes and checks the messages of the handshake. Nonces are random bytes from the kernel. If the
// kernel gives none, the process ends, since proofs could be replayed.
#include "transport/tcp/handshake.hpp"

#include <netinet/in.h>
#include <sys/random.h>

#include <cstdint>
#include <cstring>

#include "base/error.hpp"

namespace meshmem::tcp {
namespace {

constexpr std::array<char, 8> kMagic = {'m', 'e', 's', 'h', 'm', 'e', 'm', '1'};

// The layout of an Address.
struct Fields {
  char family;  // 4 or 6
  char unused[5];
  std::uint16_t port;  // as in a sockaddr
  char ip[16];
  std::uint64_t random;
};
static_assert(sizeof(Fields) == sizeof(Address));

void draw(void* to, std::size_t bytes) {
  check(getrandom(to, bytes, 0), "get random bits");  // up to 256 bytes come in one call
}

Digest mac(const WireKey& key, std::string_view role, const Greeting& greeting,
           const std::array<char, 32>& nonce, const Address& connecting, const Address& accepting) {
  std::string text(role);
  text.append(kMagic.data(), kMagic.size());
  text.append(greeting.nonce.data(), greeting.nonce.size());
  text.append(nonce.data(), nonce.size());
  text.append(as_text(connecting)).append(as_text(accepting));
  return hmac({reinterpret_cast<const char*>(key.data()), key.size()}, text);
}

}  // namespace

Address make_address(const sockaddr_storage& at) {
  Fields fields{};
  draw(&fields.random, sizeof fields.random);
  if (at.ss_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(at);
    fields.family = 4;
    fields.port = four.sin_port;
    std::memcpy(fields.ip, &four.sin_addr, sizeof four.sin_addr);
  } else {
    const auto& six = reinterpret_cast<const sockaddr_in6&>(at);
    fields.family = 6;
    fields.port = six.sin6_port;
    std::memcpy(fields.ip, &six.sin6_addr, sizeof six.sin6_addr);
  }
  Address address;
  std::memcpy(address.data(), &fields, sizeof fields);
  return address;
}

socklen_t read_address(std::string_view address, sockaddr_storage* at) {
  Fields fields{};
  if (address.size() != sizeof fields) return 0;
  std::memcpy(&fields, address.data(), sizeof fields);
  *at = {};
  if (fields.family == 4) {
    auto& four = reinterpret_cast<sockaddr_in&>(*at);
    four.sin_family = AF_INET;
    four.sin_port = fields.port;
    std::memcpy(&four.sin_addr, fields.ip, sizeof four.sin_addr);
    return sizeof four;
  }
  if (fields.family != 6) return 0;
  auto& six = reinterpret_cast<sockaddr_in6&>(*at);
  six.sin6_family = AF_INET6;
  six.sin6_port = fields.port;
  std::memcpy(&six.sin6_addr, fields.ip, sizeof six.sin6_addr);
  return sizeof six;
}

Greeting make_greeting() {
  Greeting greeting{.magic = kMagic, .nonce = {}};
  draw(greeting.nonce.data(), greeting.nonce.size());
  return greeting;
}

bool is_greeting(const Greeting& greeting) { return greeting.magic == kMagic; }

Claim make_claim(const WireKey& key, const Greeting& greeting, const Address& connecting,
                 const Address& accepting) {
  Claim claim{.magic = kMagic, .nonce = {}, .address = connecting, .proof = {}};
  draw(claim.nonce.data(), claim.nonce.size());
  claim.proof = mac(key, "connecting", greeting, claim.nonce, connecting, accepting);
  return claim;
}

bool is_proved(const WireKey& key, const Greeting& greeting, const Claim& claim,
               const Address& accepting) {
  return claim.magic == kMagic && is_same(claim.proof, mac(key, "connecting", greeting, claim.nonce,
                                                           claim.address, accepting));
}

Digest make_answer(const WireKey& key, const Greeting& greeting, const Claim& claim,
                   const Address& accepting) {
  return mac(key, "accepting", greeting, claim.nonce, claim.address, accepting);
}

}  // namespace meshmem::tcp
