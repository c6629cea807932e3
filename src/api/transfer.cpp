// SPDX-License-Identifier: Apache-2.0
//
// The copies behind all puts and gets.
// Invariant: an aligned run of 2, 4 or 8 bytes is one store, so that a waiting PE never sees half
// of a flag; memcpy promises nothing of that kind.
#include "api/transfer.hpp"

namespace meshmem {
namespace {

template <typename Word>
inline void copy_word(void* dest, const void* source) {
  Word word;
  std::memcpy(&word, source, sizeof word);
  __atomic_store_n(static_cast<Word*>(dest), word, __ATOMIC_RELAXED);
}

inline void copy_bytes(void* dest, const void* source, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(dest);
  if (bytes == 8 && address % 8 == 0) return copy_word<std::uint64_t>(dest, source);
  if (bytes == 4 && address % 4 == 0) return copy_word<std::uint32_t>(dest, source);
  if (bytes == 2 && address % 2 == 0) return copy_word<std::uint16_t>(dest, source);
  std::memcpy(dest, source, bytes);
}

}  // namespace

void put_bytes(const char* routine, void* dest, const void* source, std::size_t bytes, int pe) {
  check_pe(address_map, pe, routine);
  if (bytes == 0) return;
  copy_bytes(translate(address_map, dest, bytes, pe, routine), source, bytes);
}

void get_bytes(const char* routine, void* dest, const void* source, std::size_t bytes, int pe) {
  check_pe(address_map, pe, routine);
  if (bytes == 0) return;
  copy_bytes(dest, translate(address_map, source, bytes, pe, routine), bytes);
}

}  // namespace meshmem
