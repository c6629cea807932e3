// SPDX-License-Identifier: Apache-2.0
//
// Pieces that have no owner now, smallest first. Invariant: they live for ever, since copies may be
// under way while the process ends.
#include "gpu/pinned_room.hpp"

#include <hip/hip_runtime_api.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "gpu/device_transfer.hpp"

namespace meshmem {
namespace {

constexpr std::size_t kPage = 4096;

struct FreePieces {
  std::mutex mutex;
  std::multimap<std::size_t, std::byte*> by_bytes;
};
FreePieces& free_pieces() {
  static FreePieces& instance = *new FreePieces;
  return instance;
}

}  // namespace

PinnedRoom::PinnedRoom(std::size_t bytes) : bytes_(bytes) {
  {
    const std::lock_guard lock(free_pieces().mutex);
    auto& pieces = free_pieces().by_bytes;
    const auto found = pieces.lower_bound(bytes);
    if (found != pieces.end() && found->first <= std::max(2 * bytes, kPage)) {
      bytes_ = found->first;
      memory_ = found->second;
      pieces.erase(found);
      return;
    }
  }
  const OnDevice current(device_transfer().device());
  const RelaxedCapture allowed;
  memory_ = pin_memory(bytes);
}

PinnedRoom::~PinnedRoom() {
  const std::lock_guard lock(free_pieces().mutex);
  free_pieces().by_bytes.emplace(bytes_, memory_);
}

}  // namespace meshmem
