// SPDX-License-Identifier: Apache-2.0
//
// One record for both heaps, under a lock of its own.
// Invariant: what is kept outlives no call that reads it.
#include "memory/failed_allocation.hpp"

#include <cstdint>
#include <mutex>

#include "base/error.hpp"

namespace meshmem {
namespace {

std::mutex mutex;
std::size_t last_bytes = 0;
std::string last_text;

}  // namespace

void note_failed_allocation(const char* routine, std::size_t bytes, const std::string& why) {
  debug("{}: {} bytes asked for: {}", routine, bytes, why);
  const std::lock_guard lock(mutex);
  last_bytes = bytes;
  last_text = fmt::format("{} of {} bytes returned NULL before: {}", routine, bytes, why);
}

std::optional<std::string> failed_allocation_at(const void* address) {
  const std::lock_guard lock(mutex);
  if (reinterpret_cast<std::uintptr_t>(address) >= last_bytes) return std::nullopt;
  return last_text;
}

}  // namespace meshmem
