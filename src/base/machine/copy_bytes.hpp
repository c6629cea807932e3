// SPDX-License-Identifier: Apache-2.0
//
// The copy behind all puts and gets within host memory.
// Invariant: an aligned run of 2, 4 or 8 bytes is one store, so that a waiting PE never sees half
// of a flag; memcpy promises nothing of that kind.
#ifndef MESHMEM_BASE_MACHINE_COPY_BYTES_HPP_
#define MESHMEM_BASE_MACHINE_COPY_BYTES_HPP_

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace meshmem {

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

}  // namespace meshmem

#endif  // MESHMEM_BASE_MACHINE_COPY_BYTES_HPP_
