// SPDX-License-Identifier: Apache-2.0
//
// The blocks that a strided put or get moves. Invariant: there is at least one block, and no span
// overflows; the code that makes a Blocks checks both.
#ifndef MESHMEM_ONE_SIDED_BLOCKS_HPP_
#define MESHMEM_ONE_SIDED_BLOCKS_HPP_

#include <cstddef>

namespace meshmem::one_sided {

// `count` blocks of `bytes` bytes. A stride is the distance in bytes between the beginnings of
// neighbouring blocks.
struct Blocks {
  std::size_t bytes;
  std::size_t count;
  std::ptrdiff_t dest_stride;
  std::ptrdiff_t source_stride;

  // From the first block to the end of the last.
  std::size_t dest_span() const { return span(dest_stride); }
  std::size_t source_span() const { return span(source_stride); }

 private:
  std::size_t span(std::ptrdiff_t stride) const {
    return (count - 1) * static_cast<std::size_t>(stride) + bytes;
  }
};

}  // namespace meshmem::one_sided

#endif  // MESHMEM_ONE_SIDED_BLOCKS_HPP_
