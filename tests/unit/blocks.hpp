// SPDX-License-Identifier: Apache-2.0
//
// Blocks of bytes that tell whose they are, for the tests of collectives that move data.
// Invariant: a block depends on its PE, its length and a salt, the same wherever it is computed.
#ifndef MESHMEM_TESTS_UNIT_BLOCKS_HPP_
#define MESHMEM_TESTS_UNIT_BLOCKS_HPP_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "pe_threads.hpp"

namespace meshmem {

using Bytes = std::vector<std::byte>;

inline Bytes block_of(int pe, std::size_t bytes, std::uint64_t salt) {
  Bytes block(bytes);
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < bytes; ++i, word >>= 8) {
    if (i % 8 == 0) word = mixed(static_cast<std::uint64_t>(pe), i, salt);
    block[i] = static_cast<std::byte>(word);
  }
  return block;
}

// The blocks of n PEs one after another; PE i's has length(i) bytes.
template <typename Length>
Bytes joined_blocks(int n, const Length& length, std::uint64_t salt) {
  Bytes joined;
  for (int pe = 0; pe < n; ++pe) {
    const Bytes block = block_of(pe, length(pe), salt);
    joined.insert(joined.end(), block.begin(), block.end());
  }
  return joined;
}

inline void put_block(std::byte* at, const Bytes& block) {
  std::copy(block.begin(), block.end(), at);
}

// Every third PE brings nothing.
inline std::size_t uneven(std::size_t bytes, int pe) {
  return pe % 3 == 1 ? 0 : bytes - bytes * static_cast<std::size_t>(pe) / 20;
}

}  // namespace meshmem

#endif  // MESHMEM_TESTS_UNIT_BLOCKS_HPP_
