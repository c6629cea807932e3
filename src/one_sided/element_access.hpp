// SPDX-License-Identifier: Apache-2.0
//
// Puts, gets, strided puts and gets, and puts with a signal, by type (OpenSHMEM 1.6, sections 9.6
// and 9.8). They load from and store to the peer's memory, which is mapped here.
// Invariant: a single aligned element of 1, 2, 4 or 8 bytes is moved by one load and one store, so
// a waiting PE never sees half of it. `Where` knows the routine's name, and the world PE for a PE
// number. Called by api/rma.cpp. The functions are static so that they are inlined there.
#ifndef MESHMEM_ONE_SIDED_ELEMENT_ACCESS_HPP_
#define MESHMEM_ONE_SIDED_ELEMENT_ACCESS_HPP_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "memory/address_map.hpp"
#include "memory/argument_checks.hpp"
#include "one_sided/completion.hpp"
#include "one_sided/contiguous.hpp"
#include "one_sided/one_sided.hpp"
#include "one_sided/signal_access.hpp"
#include "transport/transport.hpp"

namespace meshmem {

// The bytes of `nelems` elements. Refuses a count whose product with the element's size overflows
// as a signed number, which one instruction tells. A negative product is longer than every segment,
// so it is refused later with its address.
template <typename E>
[[gnu::always_inline]] static inline std::size_t bytes_to_move(const char* routine,
                                                               std::size_t nelems) {
  std::ptrdiff_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::ptrdiff_t>(nelems),
                             static_cast<std::ptrdiff_t>(sizeof(E)), &bytes)) [[unlikely]]
    refuse_count(routine, nelems, sizeof(E));
  return static_cast<std::size_t>(bytes);
}

template <typename E, typename Where>
static void put(Where where, void* dest, const void* source, std::size_t nelems, int pe) {
  put_bytes(where.routine, dest, source, bytes_to_move<E>(where.routine, nelems),
            where.world_pe(pe));
}
template <typename E, typename Where>
static void get(Where where, void* dest, const void* source, std::size_t nelems, int pe) {
  get_bytes(where.routine, dest, source, bytes_to_move<E>(where.routine, nelems),
            where.world_pe(pe));
}

template <typename E, typename Where>
static void put_nbi(Where where, void* dest, const void* source, std::size_t nelems, int pe) {
  put_nbi_bytes(where.routine, dest, source, bytes_to_move<E>(where.routine, nelems),
                where.world_pe(pe));
}
template <typename E, typename Where>
static void get_nbi(Where where, void* dest, const void* source, std::size_t nelems, int pe) {
  get_nbi_bytes(where.routine, dest, source, bytes_to_move<E>(where.routine, nelems),
                where.world_pe(pe));
}

// These take and return the value itself, so that the fast paths of p and g use no stack.
template <typename E>
[[gnu::cold, gnu::noinline]] static void cold_p(const char* routine, E* dest, E value, int pe) {
  one_sided::put(routine, dest, &value, sizeof(E), pe);
}
template <typename E>
[[gnu::cold, gnu::noinline]] static E cold_g(const char* routine, const E* source, int pe) {
  E value;
  one_sided::get(routine, &value, source, sizeof(E), pe);
  return value;
}

template <typename E, typename Where>
[[gnu::always_inline]] static inline void p(Where where, E* dest, E value, int pe) {
  const int to = where.world_pe(pe);
  check_pe(direct_map, to, where.routine);
  std::byte* copy = find_copy(direct_map, dest, sizeof(E), to);
  if (!is_mapped(copy)) [[unlikely]]
    return cold_p(where.routine, dest, value, to);
  auto* there = reinterpret_cast<E*>(copy);
  if constexpr (sizeof(E) <= 8) {
    __atomic_store(there, &value, __ATOMIC_RELAXED);
  } else {
    *there = value;
  }
}
template <typename E, typename Where>
[[gnu::always_inline]] static inline E g(Where where, const E* source, int pe) {
  const int from = where.world_pe(pe);
  check_pe(direct_map, from, where.routine);
  const std::byte* copy = find_copy(direct_map, source, sizeof(E), from);
  if (!is_mapped(copy)) [[unlikely]]
    return cold_g(where.routine, source, from);
  const auto* there = reinterpret_cast<const E*>(copy);
  E value;
  if constexpr (sizeof(E) <= 8) {
    __atomic_load(there, &value, __ATOMIC_RELAXED);
  } else {
    value = *there;
  }
  return value;
}

// Orders the data of a put before its signal. The processor's store of a signal could overtake data
// that is still on a stream or in the transport. A signal in device memory is stored on the stream,
// so it cannot.
[[gnu::cold, gnu::noinline]] static void order_data_before_signal(const char* routine,
                                                                  const std::uint64_t* sig_addr) {
  if (is_in_segment(address_map, sig_addr, sizeof *sig_addr)) order_transfers(routine);
}

// Puts data and signal in one message if the PE is far. Otherwise does nothing and returns false.
template <typename Where>
[[gnu::cold, gnu::noinline]] static bool try_put_signal_far(Where where, void* dest,
                                                            const void* source, std::size_t bytes,
                                                            const one_sided::Signal& signal,
                                                            int pe) {
  check_signal_op(where.routine, signal.op);
  const int to = where.world_pe(pe);
  check_pe(direct_map, to, where.routine);
  check_alignment(where.routine, signal.address, sizeof *signal.address);
  return one_sided::try_put_signal(where.routine, dest, source, bytes, signal, to);
}

template <typename E, typename Where>
static void put_signal(Where where, void* dest, const void* source, std::size_t nelems,
                       std::uint64_t* sig_addr, std::uint64_t signal, int sig_op, int pe) {
  if (transport() &&
      try_put_signal_far(where, dest, source, bytes_to_move<E>(where.routine, nelems),
                         {sig_addr, signal, sig_op}, pe)) [[unlikely]]
    return;
  put<E>(where, dest, source, nelems, pe);
  if (pending_work.is_under_way()) [[unlikely]]
    order_data_before_signal(where.routine, sig_addr);
  update_signal(where, sig_addr, signal, sig_op, pe);
}
template <typename E, typename Where>
static void put_signal_nbi(Where where, void* dest, const void* source, std::size_t nelems,
                           std::uint64_t* sig_addr, std::uint64_t signal, int sig_op, int pe) {
  put_signal<E>(where, dest, source, nelems, sig_addr, signal, sig_op, pe);
}

// ---- Blocks at strides. The whole span at the remote PE must lie in one segment.

// Copies blocks of `bsize` elements; strides are in elements.
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
  bytes_of(routine, bytes_of(routine, nblocks, bsize), sizeof(E));
  // Without a sign, since one block may have any stride.
  const auto in_bytes = [](std::ptrdiff_t stride) {
    return static_cast<std::ptrdiff_t>(static_cast<std::size_t>(stride) * sizeof(E));
  };
  return {bsize * sizeof(E), nblocks, in_bytes(dst), in_bytes(sst)};
}

// The bytes from the first block to the end of the last, which begin `stride` elements apart.
// `name`: the standard's name for the stride.
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

#endif  // MESHMEM_ONE_SIDED_ELEMENT_ACCESS_HPP_
