// SPDX-License-Identifier: Apache-2.0
//
// Keeps one record for both heaps, of the last failed allocation.
// Invariant: `mutex` guards the record.
#include "memory/failed_allocation.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <mutex>

#include "base/code_place.hpp"
#include "base/error.hpp"

namespace meshmem {
namespace {

std::mutex mutex;
std::size_t last_bytes = 0;
std::string last_text;

}  // namespace

void note_failed_allocation(const char* routine, std::size_t bytes, const std::string& why) {
  debug("{}: {} bytes asked for: {}", routine, bytes, why);
  const std::string function = program_call_text();
  const std::string where = function.empty() ? "" : fmt::format(" in {}", function);
  const std::lock_guard lock(mutex);
  last_bytes = bytes;
  last_text = fmt::format("{} of {} bytes{} returned NULL before: {}", routine, bytes, where, why);
}

std::optional<std::string> failed_allocation_at(const void* address) {
  const std::lock_guard lock(mutex);
  if (reinterpret_cast<std::uintptr_t>(address) >= last_bytes) return std::nullopt;
  return last_text;
}

void print_failed_allocation_at(const void* address, int pe) {
  static std::atomic_flag has_said = ATOMIC_FLAG_INIT;
  const std::unique_lock lock(mutex, std::try_to_lock);  // the interrupted thread may hold it
  if (!lock || reinterpret_cast<std::uintptr_t>(address) >= last_bytes) return;
  if (has_said.test_and_set()) return;
  char line[1024];
  const int length = std::snprintf(line, sizeof line, "meshmem: PE %d, in a kernel: %p: %s\n", pe,
                                   address, last_text.c_str());
  const auto size = std::min(sizeof line - 1, static_cast<std::size_t>(length));
  if (write(STDERR_FILENO, line, size) < 0) return;  // nothing else to do in a signal handler
}

}  // namespace meshmem
