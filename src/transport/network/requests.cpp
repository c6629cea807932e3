// SPDX-License-Identifier: Apache-2.0
//
// The table of requests. Invariant: a number is an entry's index (lower 32 bits) and how often the
// entry has been used (upper 32 bits).
#include "transport/network/requests.hpp"

#include "base/machine/copy_bytes.hpp"

namespace meshmem::network {

std::uint64_t Requests::add(int from, void* dest, std::size_t bytes,
                            std::atomic<std::size_t>* missing, Asks asks) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(requests_.size()));
    requests_.emplace_back();
  }
  const std::uint32_t place = free_.back();
  free_.pop_back();
  Request& request = requests_[place];
  request = {request.uses + 1, from, dest, bytes, missing, asks};
  if (missing) missing->fetch_add(1, std::memory_order_relaxed);
  return std::uint64_t{request.uses} << 32 | place;
}

bool Requests::answer(std::uint64_t number, int from, const std::byte* data, std::uint64_t bytes) {
  const auto place = static_cast<std::uint32_t>(number);
  if (place >= requests_.size()) return false;
  Request& request = requests_[place];
  if (request.from != from || request.uses != number >> 32 || request.bytes != bytes) return false;
  if (bytes > 0) copy_bytes(request.dest, data, bytes);
  request.from = -1;
  free_.push_back(place);
  // Release: publishes the data to the waiting thread. It may then destroy *missing, so this is the
  // last access.
  if (request.missing) request.missing->fetch_sub(1, std::memory_order_release);
  return true;
}

}  // namespace meshmem::network
