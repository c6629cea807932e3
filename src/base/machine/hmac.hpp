// SPDX-License-Identifier: Apache-2.0
//
// HMAC-SHA-256 (RFC 2104, FIPS 180-4): proves that the sender of some bytes knows a key.
// Invariant: is_same() takes equally long wherever two digests differ. Made for some hundred bytes
// at a time. Called by the handshake of the TCP wire, and by start-up, which makes keys from the
// job's secret.
#ifndef MESHMEM_BASE_MACHINE_HMAC_HPP_
#define MESHMEM_BASE_MACHINE_HMAC_HPP_

#include <array>
#include <cstddef>
#include <string_view>

namespace meshmem {

using Digest = std::array<unsigned char, 32>;

Digest sha256(std::string_view text);
Digest hmac(std::string_view key, std::string_view text);

bool is_same(const Digest& one, const Digest& other);
inline std::string_view as_text(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace meshmem

#endif  // MESHMEM_BASE_MACHINE_HMAC_HPP_
