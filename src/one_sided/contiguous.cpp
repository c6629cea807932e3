// SPDX-License-Identifier: Apache-2.0
//
// The bodies of all contiguous puts and gets. Invariant: one cold branch handles all transfers that
// are not between host memory mapped here.
#include "one_sided/contiguous.hpp"

#include "base/machine/copy_bytes.hpp"
#include "memory/address_map.hpp"
#include "one_sided/one_sided.hpp"

namespace meshmem {
namespace {

using ColdPath = void (*)(const char* routine, void* dest, const void* source, std::size_t bytes,
                          int pe);

template <ColdPath cold_path>
[[gnu::always_inline]] inline void put(const char* routine, void* dest, const void* source,
                                       std::size_t bytes, int pe) {
  check_pe(direct_map, pe, routine);
  if (bytes == 0) return;
  std::byte* there = find_copy(direct_map, dest, bytes, pe);
  if (!is_mapped(there) || may_be_on_device(source)) [[unlikely]]
    return cold_path(routine, dest, source, bytes, pe);
  copy_bytes(there, source, bytes);
}

template <ColdPath cold_path>
[[gnu::always_inline]] inline void get(const char* routine, void* dest, const void* source,
                                       std::size_t bytes, int pe) {
  check_pe(direct_map, pe, routine);
  if (bytes == 0) return;
  const std::byte* there = find_copy(direct_map, source, bytes, pe);
  if (!is_mapped(there) || may_be_on_device(dest)) [[unlikely]]
    return cold_path(routine, dest, source, bytes, pe);
  copy_bytes(dest, there, bytes);
}

}  // namespace

void put_bytes(const char* routine, void* dest, const void* source, std::size_t bytes, int pe) {
  put<one_sided::put>(routine, dest, source, bytes, pe);
}
void put_nbi_bytes(const char* routine, void* dest, const void* source, std::size_t bytes, int pe) {
  put<one_sided::put_nbi>(routine, dest, source, bytes, pe);
}
void get_bytes(const char* routine, void* dest, const void* source, std::size_t bytes, int pe) {
  get<one_sided::get>(routine, dest, source, bytes, pe);
}
void get_nbi_bytes(const char* routine, void* dest, const void* source, std::size_t bytes, int pe) {
  get<one_sided::get_nbi>(routine, dest, source, bytes, pe);
}

}  // namespace meshmem
