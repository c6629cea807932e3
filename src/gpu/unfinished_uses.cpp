// SPDX-License-Identifier: Apache-2.0
//
// The list of uses, each with a mark on its stream.
// Invariant: a use that is over leaves the list when the next use of its stream comes. The event of
// a use whose stream is being captured cannot be queried, so the use stays and is not reported.
#include "gpu/unfinished_uses.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>

#include "gpu/stream_mark.hpp"

namespace meshmem {
namespace {

struct Use {
  const char* routine;
  std::vector<UsedRange> ranges;
  std::unique_ptr<StreamMark> end;

  bool touches(const void* address, std::size_t bytes) const {
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    return std::any_of(ranges.begin(), ranges.end(), [&](const UsedRange& range) {
      const auto at = reinterpret_cast<std::uintptr_t>(range.address);
      return at - begin < bytes || begin - at < range.bytes;
    });
  }
};

constexpr std::size_t kMany = 1000;  // programs may make a stream for each use, and destroy it

// `stream` is not captured.
bool is_over(const Use& use, hipStream_t stream) {
  return (use.end->is_on(stream) || use.end->may_be_asked()) && use.end->is_over();
}

struct Uses {
  std::mutex mutex;
  std::vector<Use> all;
};
Uses& uses() {
  static Uses& instance = *new Uses;  // lives for ever, as streams must
  return instance;
}

}  // namespace

void keep_unfinished_use(const char* routine, hipStream_t stream, int device,
                         std::vector<UsedRange> ranges) {
  auto end = std::make_unique<StreamMark>(device);
  end->set(stream);
  const std::lock_guard lock(uses().mutex);
  const bool many = uses().all.size() >= kMany;
  std::erase_if(uses().all, [&](const Use& use) {
    return (many || use.end->is_on(stream)) && is_over(use, stream);
  });
  uses().all.push_back({routine, std::move(ranges), std::move(end)});
}

const char* unfinished_user_of(const void* address, std::size_t bytes) {
  const std::lock_guard lock(uses().mutex);
  for (const Use& use : uses().all)
    if (use.touches(address, bytes) && use.end->may_be_asked() && !use.end->is_over())
      return use.routine;
  return nullptr;
}

void forget_unfinished_uses() {
  const std::lock_guard lock(uses().mutex);
  uses().all.clear();
}

}  // namespace meshmem
