// SPDX-License-Identifier: Apache-2.0
//
// Strided and block-strided puts and gets, by type (OpenSHMEM 1.6, section 9.6).
// Invariant: the whole span of the symmetric end lies in one segment. `Where` says the name of the
// routine and which PE of the world a number means. Called by api/rma.cpp;
// static, so that its functions become part of those that call them.
#ifndef MESHMEM_ONE_SIDED_STRIDED_ACCESS_HPP_
#define MESHMEM_ONE_SIDED_STRIDED_ACCESS_HPP_

#include <cstddef>
#include <cstring>

#include "memory/address_map.hpp"
#include "memory/argument_checks.hpp"
#include "one_sided/one_sided.hpp"

namespace meshmem {

// Blocks of `bsize` elements; strides in elements.
template <typename E>
static void copy_blocks(E* dest, std::ptrdiff_t dest_stride, const E* source,
                        std::ptrdiff_t source_stride, std::size_t bsize, std::size_t nblocks) {
  for (std::size_t block = 0; block < nblocks; ++block) {
    if (bsize == 1) {
      std::memcpy(dest, source, sizeof(E));
    } else {
      std::memcpy(dest, source, bsize * sizeof(E));
    }
    dest += dest_stride;
    source += source_stride;
  }
}

template <typename E>
static one_sided::Blocks blocks_of(const char* routine, std::ptrdiff_t dst, std::ptrdiff_t sst,
                                   std::size_t bsize, std::size_t nblocks) {
  constexpr auto kElem = static_cast<std::ptrdiff_t>(sizeof(E));
  bytes_of(routine, bytes_of(routine, bsize, nblocks), sizeof(E));
  return {bsize * sizeof(E), nblocks, dst * kElem, sst * kElem};
}

// From the first block to the end of the last, `stride` elements apart, in symmetric memory.
template <typename E>
static std::size_t span_of(const char* routine, const char* name, std::ptrdiff_t stride,
                           std::size_t bsize, std::size_t nblocks) {
  std::ptrdiff_t before_last = 0, elems = 0, bytes = 0;
  if (stride < 0 || __builtin_mul_overflow(nblocks - 1, stride, &before_last) ||
      __builtin_add_overflow(before_last, bsize, &elems) ||
      __builtin_mul_overflow(elems, static_cast<std::ptrdiff_t>(sizeof(E)), &bytes)) [[unlikely]]
    refuse_stride(routine, name, stride, nblocks);
  return static_cast<std::size_t>(bytes);
}

template <typename E, typename Where>
static void ibput(Where where, void* dest, const void* source, std::ptrdiff_t dst,
                  std::ptrdiff_t sst, std::size_t bsize, std::size_t nblocks, int pe) {
  const int to = where.world_pe(pe);
  check_pe(direct_map, to, where.routine);
  if (bsize == 0 || nblocks == 0) return;
  const one_sided::Blocks blocks = blocks_of<E>(where.routine, dst, sst, bsize, nblocks);
  const std::size_t span = span_of<E>(where.routine, "dst", dst, bsize, nblocks);
  auto* there = find_copy(direct_map, dest, span, to);
  if (!is_mapped(there) || may_be_on_device(source)) [[unlikely]]
    return one_sided::put_blocks(where.routine, dest, source, blocks, to);
  copy_blocks(reinterpret_cast<E*>(there), dst, static_cast<const E*>(source), sst, bsize, nblocks);
}
template <typename E, typename Where>
static void ibget(Where where, void* dest, const void* source, std::ptrdiff_t dst,
                  std::ptrdiff_t sst, std::size_t bsize, std::size_t nblocks, int pe) {
  const int from = where.world_pe(pe);
  check_pe(direct_map, from, where.routine);
  if (bsize == 0 || nblocks == 0) return;
  const one_sided::Blocks blocks = blocks_of<E>(where.routine, dst, sst, bsize, nblocks);
  const std::size_t span = span_of<E>(where.routine, "sst", sst, bsize, nblocks);
  const auto* there = find_copy(direct_map, source, span, from);
  if (!is_mapped(there) || may_be_on_device(dest)) [[unlikely]]
    return one_sided::get_blocks(where.routine, dest, source, blocks, from);
  copy_blocks(static_cast<E*>(dest), dst, reinterpret_cast<const E*>(there), sst, bsize, nblocks);
}
template <typename E, typename Where>
static void iput(Where where, void* dest, const void* source, std::ptrdiff_t dst,
                 std::ptrdiff_t sst, std::size_t nelems, int pe) {
  ibput<E>(where, dest, source, dst, sst, 1, nelems, pe);
}
template <typename E, typename Where>
static void iget(Where where, void* dest, const void* source, std::ptrdiff_t dst,
                 std::ptrdiff_t sst, std::size_t nelems, int pe) {
  ibget<E>(where, dest, source, dst, sst, 1, nelems, pe);
}

}  // namespace meshmem

#endif  // MESHMEM_ONE_SIDED_STRIDED_ACCESS_HPP_
