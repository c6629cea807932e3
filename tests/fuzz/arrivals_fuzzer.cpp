// SPDX-License-Identifier: Apache-2.0
//
// Feeds a PE messages that libFuzzer makes up, from senders that it knows or does not know.
// The input is a sequence of messages: a head, two bytes for the length of the body, and the body.
// Each gets the right token, because the PE ignores messages with a wrong one.
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
