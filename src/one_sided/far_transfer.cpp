// SPDX-License-Identifier: Apache-2.0
//
// Finds far places, and stages this PE's device memory in pieces. Invariant: the driver is asked
// whether an address is device memory only if no cheaper test tells.
#include "one_sided/far_transfer.hpp"

#include <algorithm>

#include "base/status/slow_ways.hpp"
#include "gpu/device_transfer.hpp"
#include "gpu/user_buffer.hpp"
#include "memory/address_map.hpp"
#include "memory/argument_checks.hpp"

namespace meshmem::far {
namespace {

using one_sided::Blocks;

RemotePlace shifted(RemotePlace place, std::size_t bytes) {
  place.offset += bytes;
  return place;
}
RemotePlace shifted(RemotePlace place, std::ptrdiff_t bytes) {
  return shifted(place, static_cast<std::size_t>(bytes));
}

// True if the address is near the caller's stack frame, where single values lie. A stack is never
// device memory.
bool is_on_stack(const void* address) {
  constexpr std::uintptr_t kStackReach = 4096;
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return reinterpret_cast<std::uintptr_t>(address) - here < kStackReach;
}

// True for device memory of this PE, symmetric or not.
bool transport_cannot_reach(const void* address) {
  if (!device_transfer().is_open() || is_on_stack(address)) return false;
  if (is_in_segment(address_map, address, 1)) return false;
  return is_on_device(address) || is_device_memory(address);
}

// True if this PE has to stage its end. The other PE stages its own end.
bool needs_staging(const char* routine, const RemotePlace& there, const void* address) {
  const bool is_staged_here = transport_cannot_reach(address);
  if (is_staged_here || there.segment == RemoteSegment::device)
    note_slow_way(SlowWay::transfer_through_host, routine);
  return is_staged_here;
}

// Moves blocks through the pinned page of a device lane, in which they lie side by side. Calls
// packed(page, first, count) for as many blocks as the page holds at once. False, and nothing is
// done: fewer than two blocks fit.
template <typename Packed>
bool for_each_page(const Blocks& blocks, const Packed& packed) {
  const std::size_t most = DeviceLane::kPinnedBytes / blocks.bytes;
  if (most < 2) return false;
  const DeviceTransfer::Lane lane = device_transfer().lane();
  auto* const page = static_cast<std::byte*>(lane->pinned());
  for (std::size_t done = 0; done < blocks.count; done += most)
    packed(page, static_cast<std::ptrdiff_t>(done), std::min(most, blocks.count - done));
  return true;
}

void put_each(const RemotePlace& dest, const std::byte* source, const Blocks& blocks) {
  for (std::size_t i = 0; i < blocks.count; ++i) {
    const auto index = static_cast<std::ptrdiff_t>(i);
    transport()->put(shifted(dest, index * blocks.dest_stride),
                     source + index * blocks.source_stride, blocks.bytes);
  }
}
void get_each(std::byte* dest, const RemotePlace& source, const Blocks& blocks) {
  for (std::size_t i = 0; i < blocks.count; ++i) {
    const auto index = static_cast<std::ptrdiff_t>(i);
    transport()->get(dest + index * blocks.dest_stride,
                     shifted(source, index * blocks.source_stride), blocks.bytes);
  }
}

}  // namespace

std::optional<RemotePlace> find(const char* routine, const void* address, std::size_t bytes,
                                int pe) {
  if (!transport() || is_mapped(address_map.heap.copy_of_pe[pe])) return std::nullopt;
  check_block(routine, address, bytes);
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (address_map.heap.holds(address, bytes))
    return RemotePlace{pe, RemoteSegment::heap, at - address_map.heap.base};
  if (address_map.statics.holds(address, bytes))
    return RemotePlace{pe, RemoteSegment::statics, at - address_map.statics.base};
  if (const auto on_device = device_segments().find_offset(address, bytes))
    return RemotePlace{pe, RemoteSegment::device,
                       device_offset(on_device->number, on_device->offset)};
  return std::nullopt;
}

void put(const char* routine, const RemotePlace& dest, const void* source, std::size_t bytes,
         Until until) {
  if (!needs_staging(routine, dest, source))
    return until == Until::issued ? transport()->put_nbi(dest, source, bytes)
                                  : transport()->put(dest, source, bytes);
  const auto send = [&](std::byte* piece, std::size_t offset, std::size_t length) {
    transport()->put(shifted(dest, offset), piece, length);
  };
  device_transfer().copy_out(source, bytes, send, routine);
}

void get(const char* routine, void* dest, const RemotePlace& source, std::size_t bytes,
         Until until) {
  if (!needs_staging(routine, source, dest))
    return until == Until::issued ? transport()->get_nbi(dest, source, bytes)
                                  : transport()->get(dest, source, bytes);
  const auto fill = [&](std::byte* piece, std::size_t offset, std::size_t length) {
    transport()->get(piece, shifted(source, offset), length);
  };
  device_transfer().copy_in(dest, bytes, fill, routine);
}

// Sends the signal with the last piece.
void put_signal(const char* routine, const RemotePlace& dest, const void* source, std::size_t bytes,
                const SignalUpdate& signal) {
  if (bytes == 0 || !needs_staging(routine, dest, source))
    return transport()->put_signal(dest, source, bytes, signal);
  const auto send = [&](std::byte* piece, std::size_t offset, std::size_t length) {
    if (offset + length == bytes)
      transport()->put_signal(shifted(dest, offset), piece, length, signal);
    else
      transport()->put(shifted(dest, offset), piece, length);
  };
  device_transfer().copy_out(source, bytes, send, routine);
}

void put_blocks(const char* routine, const RemotePlace& dest, const void* source,
                const Blocks& blocks) {
  const auto* from = static_cast<const std::byte*>(source);
  if (!needs_staging(routine, dest, source)) return put_each(dest, from, blocks);
  const auto side_by_side = static_cast<std::ptrdiff_t>(blocks.bytes);
  const auto put_page = [&](std::byte* page, std::ptrdiff_t first, std::size_t count) {
    device_transfer().copy_strided({page, side_by_side, from + first * blocks.source_stride,
                                    blocks.source_stride, blocks.bytes, count},
                                   routine);
    put_each(shifted(dest, first * blocks.dest_stride), page,
             {blocks.bytes, count, blocks.dest_stride, side_by_side});
  };
  if (for_each_page(blocks, put_page)) return;
  for (std::size_t i = 0; i < blocks.count; ++i) {
    const auto index = static_cast<std::ptrdiff_t>(i);
    put(routine, shifted(dest, index * blocks.dest_stride), from + index * blocks.source_stride,
        blocks.bytes, Until::source_is_free);
  }
}

void get_blocks(const char* routine, void* dest, const RemotePlace& source, const Blocks& blocks) {
  auto* to = static_cast<std::byte*>(dest);
  if (!needs_staging(routine, source, dest)) return get_each(to, source, blocks);
  const auto side_by_side = static_cast<std::ptrdiff_t>(blocks.bytes);
  const auto get_page = [&](std::byte* page, std::ptrdiff_t first, std::size_t count) {
    get_each(page, shifted(source, first * blocks.source_stride),
             {blocks.bytes, count, side_by_side, blocks.source_stride});
    device_transfer().copy_strided({to + first * blocks.dest_stride, blocks.dest_stride, page,
                                    side_by_side, blocks.bytes, count},
                                   routine);
  };
  if (for_each_page(blocks, get_page)) return;
  for (std::size_t i = 0; i < blocks.count; ++i) {
    const auto index = static_cast<std::ptrdiff_t>(i);
    get(routine, to + index * blocks.dest_stride, shifted(source, index * blocks.source_stride),
        blocks.bytes, Until::done);
  }
}

}  // namespace meshmem::far
