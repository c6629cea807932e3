// SPDX-License-Identifier: Apache-2.0
//
// Messages of a known PE as libFuzzer makes them up: a head, two bytes for the length of the body,
// the body, and the next message. Their token is right, or all else would be ignored.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "../unit/fed_arrivals.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using meshmem::network::Head;
  meshmem::FedArrivals receiver;
  Head head;
  std::uint16_t body_bytes = 0;
  while (bytes >= sizeof head + sizeof body_bytes) {
    std::memcpy(&head, data, sizeof head);
    std::memcpy(&body_bytes, data + sizeof head, sizeof body_bytes);
    data += sizeof head + sizeof body_bytes;
    bytes -= sizeof head + sizeof body_bytes;
    head.token = meshmem::FedArrivals::kToken[0];
    std::vector<std::byte> body(std::min<std::size_t>(body_bytes, bytes));
    std::copy_n(reinterpret_cast<const std::byte*>(data), body.size(), body.begin());
    data += body.size();
    bytes -= body.size();
    const int sender = head.unused == 0 ? -1 : head.unused % 4;
    if (receiver.take(sender, &head, sizeof head, body) == meshmem::Fate::ends_job) break;
  }
  return 0;
}
