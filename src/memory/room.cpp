// SPDX-License-Identifier: Apache-2.0
//
// The slow side of the questions in room.hpp.
// Invariant: an address that begins in no symmetric segment is refused only if start-up has said so.
#include "memory/room.hpp"

#include <string>

#include "base/error.hpp"
#include "memory/address_map.hpp"

namespace meshmem {
namespace {

constinit bool unsymmetric_is_refused = false;

bool begins_in(const Segment& segment, const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) - segment.base < segment.bytes;
}

[[gnu::cold, gnu::noinline]] void check_rare(const char* routine, const void* address,
                                             std::size_t bytes) {
  if (is_symmetric(address_map, address, bytes)) return;
  if (unsymmetric_is_refused || begins_in(address_map.heap, address) ||
      begins_in(address_map.statics, address) || device_segments().holds(address))
    refuse_address(address_map, address, bytes, routine);
}

}  // namespace

void refuse_count(const char* routine, std::size_t count, std::size_t elem_bytes) {
  const auto as_signed = static_cast<std::ptrdiff_t>(count);
  fatal("{}: a count of {}{}, in elements of {} bytes, is more than any memory has", routine, count,
        as_signed < 0 ? fmt::format(" ({}?)", as_signed) : "", elem_bytes);
}

void refuse_stride(const char* routine, const char* name, std::ptrdiff_t stride,
                   std::size_t count) {
  if (stride < 0)
    fatal("{}: {} is {}; in symmetric memory no stride is negative", routine, name, stride);
  fatal("{}: {} elements or blocks, {} elements apart ({}), are more than any memory has", routine,
        count, stride, name);
}

void check_room(const char* routine, const void* address, std::size_t bytes) {
  if (bytes == 0 || try_translate(address_map, address, bytes, address_map.my_pe)) [[likely]]
    return;
  check_rare(routine, address, bytes);
}

void refuse_unsymmetric_buffers(bool refuse) { unsymmetric_is_refused = refuse; }

}  // namespace meshmem
