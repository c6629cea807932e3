// SPDX-License-Identifier: Apache-2.0
//
// See buffers.hpp. The buffers are in a list. Its bounds are published, because most of the
// program's loads and stores are outside of them and need no search.
#include "tools/races/buffers.hpp"

#include <algorithm>
#include <vector>

#include "tools/races/ledger.hpp"
#include "tools/races/noted.hpp"
#include "tools/races/state.hpp"

namespace meshmem::races {
namespace {

struct Buffer {
  std::uint64_t begin, end;
  Access access;
  const void* thread;

  bool overlaps(std::uint64_t other_begin, std::uint64_t other_end) const {
    return begin < other_end && other_begin < end;
  }
};
constexpr std::size_t kBuffers = 256;
// Lives for ever: a destructor of the program may finalize.
auto& buffers = *new std::vector<Buffer>;

const void* this_thread() {
  static thread_local const char thread = 0;
  return &thread;
}

}  // namespace

void note_bounds() {
  std::uint64_t begin = UINT64_MAX, end = 0;
  for (const Buffer& buffer : buffers) {
    begin = std::min(begin, buffer.begin);
    end = std::max(end, buffer.end);
  }
  bounds_of_buffers.begin.store(begin, std::memory_order_relaxed);
  bounds_of_buffers.end.store(end, std::memory_order_relaxed);
  ledger.begin_watched.store(is_parallel() ? 0 : begin, std::memory_order_relaxed);
  ledger.end_watched.store(is_parallel() ? UINTPTR_MAX : end, std::memory_order_relaxed);
}

std::optional<Access> find_buffer(std::uint64_t address, std::size_t bytes, const Access& access) {
  for (const Buffer& buffer : buffers) {
    if (!buffer.overlaps(address, address + bytes) || !(buffer.access.writes || access.writes) ||
        my_clock().knows(me(), buffer.access))
      continue;
    const std::uint64_t at = std::max(address, buffer.begin);
    // The thread was another strand before, and now uses this part of its stack for something new.
    const bool is_own_stack =
        buffer.thread == this_thread() && buffer.access.who() != me() && is_private_here(at);
    if (!is_own_stack && !is_gone(at, buffer.access.call_number)) return buffer.access;
  }
  return std::nullopt;
}

void add_buffer(std::uint64_t address, std::size_t bytes, const Access& access) {
  const std::uint64_t end = address + bytes;
  std::erase_if(buffers, [&](const Buffer& old) {
    return address <= old.begin && old.end <= end && old.access.writes == access.writes &&
           old.access.order == access.order && old.access.row == access.row;
  });
  if (buffers.size() == kBuffers) buffers.erase(buffers.begin());
  buffers.push_back({address, end, access, this_thread()});
  note_bounds();
}

void forget_done_buffers() {
  if (is_parallel()) return;
  const auto is_done = [](const Buffer& buffer) { return my_clock().knows(me(), buffer.access); };
  if (std::erase_if(buffers, is_done) != 0) note_bounds();
}

void forget_buffers_here(std::uint64_t begin, std::uint64_t end) {
  const auto is_here = [&](const Buffer& buffer) {
    return begin <= buffer.begin && buffer.end <= end && buffer.thread == this_thread();
  };
  if (std::erase_if(buffers, is_here) != 0) note_bounds();
}

void forget_buffers() {
  buffers.clear();
  note_bounds();
}

}  // namespace meshmem::races
