// SPDX-License-Identifier: Apache-2.0
//
// Remote memory access (OpenSHMEM 1.6, section 9.6): loads and stores through the mapping
// of the peer.
// Invariant: an aligned element of 1, 2, 4 or 8 bytes that is moved alone is moved by one load and
// one store, so that a waiting PE never sees half of it.
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "api/entry.hpp"
#include "api/transfer.hpp"
#include "memory/room.hpp"
#include "transport/completion.hpp"

namespace meshmem {
namespace {

using one_sided::Blocks;

// Bytes of `nelems` elements, of which none has been lost: the product's overflow, read as signed,
// says so in one instruction. What is negative is longer than every segment.
template <typename E>
[[gnu::always_inline]] inline std::size_t bytes_to_move(const char* routine, std::size_t nelems) {
  std::ptrdiff_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::ptrdiff_t>(nelems),
                             static_cast<std::ptrdiff_t>(sizeof(E)), &bytes)) [[unlikely]]
    refuse_count(routine, nelems, sizeof(E));
  return static_cast<std::size_t>(bytes);
}

template <typename E, typename Where>
void put(Where where, void* dest, const void* source, std::size_t nelems, int pe) {
  put_bytes(where.routine, dest, source, bytes_to_move<E>(where.routine, nelems),
            where.world_pe(pe));
}
template <typename E, typename Where>
void get(Where where, void* dest, const void* source, std::size_t nelems, int pe) {
  get_bytes(where.routine, dest, source, bytes_to_move<E>(where.routine, nelems),
            where.world_pe(pe));
}

template <typename E, typename Where>
void put_nbi(Where where, void* dest, const void* source, std::size_t nelems, int pe) {
  put_nbi_bytes(where.routine, dest, source, bytes_to_move<E>(where.routine, nelems),
                where.world_pe(pe));
}
template <typename E, typename Where>
void get_nbi(Where where, void* dest, const void* source, std::size_t nelems, int pe) {
  get_nbi_bytes(where.routine, dest, source, bytes_to_move<E>(where.routine, nelems),
                where.world_pe(pe));
}

// By value, so that nothing of p and g needs a place on the stack.
template <typename E>
[[gnu::cold, gnu::noinline]] void cold_p(const char* routine, E* dest, E value, int pe) {
  one_sided::put(routine, dest, &value, sizeof(E), pe);
}
template <typename E>
[[gnu::cold, gnu::noinline]] E cold_g(const char* routine, const E* source, int pe) {
  E value;
  one_sided::get(routine, &value, source, sizeof(E), pe);
  return value;
}

template <typename E, typename Where>
[[gnu::always_inline]] inline void p(Where where, E* dest, E value, int pe) {
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
[[gnu::always_inline]] inline E g(Where where, const E* source, int pe) {
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

// Blocks of `bsize` elements; strides in elements.
template <typename E>
void copy_blocks(E* dest, std::ptrdiff_t dest_stride, const E* source, std::ptrdiff_t source_stride,
                 std::size_t bsize, std::size_t nblocks) {
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
Blocks blocks_of(const char* routine, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t bsize,
                 std::size_t nblocks) {
  constexpr auto kElem = static_cast<std::ptrdiff_t>(sizeof(E));
  bytes_of(routine, bytes_of(routine, bsize, nblocks), sizeof(E));
  return {bsize * sizeof(E), nblocks, dst * kElem, sst * kElem};
}

// From the first block to the end of the last, `stride` elements apart, in symmetric memory.
template <typename E>
std::size_t span_of(const char* routine, const char* name, std::ptrdiff_t stride, std::size_t bsize,
                    std::size_t nblocks) {
  std::ptrdiff_t before_last = 0, elems = 0, bytes = 0;
  if (stride < 0 || __builtin_mul_overflow(nblocks - 1, stride, &before_last) ||
      __builtin_add_overflow(before_last, bsize, &elems) ||
      __builtin_mul_overflow(elems, static_cast<std::ptrdiff_t>(sizeof(E)), &bytes)) [[unlikely]]
    refuse_stride(routine, name, stride, nblocks);
  return static_cast<std::size_t>(bytes);
}

template <typename E, typename Where>
void ibput(Where where, void* dest, const void* source, std::ptrdiff_t dst, std::ptrdiff_t sst,
           std::size_t bsize, std::size_t nblocks, int pe) {
  const int to = where.world_pe(pe);
  check_pe(direct_map, to, where.routine);
  if (bsize == 0 || nblocks == 0) return;
  const Blocks blocks = blocks_of<E>(where.routine, dst, sst, bsize, nblocks);
  const std::size_t span = span_of<E>(where.routine, "dst", dst, bsize, nblocks);
  auto* there = find_copy(direct_map, dest, span, to);
  if (!is_mapped(there) || may_be_on_device(source)) [[unlikely]]
    return one_sided::put_blocks(where.routine, dest, source, blocks, to);
  copy_blocks(reinterpret_cast<E*>(there), dst, static_cast<const E*>(source), sst, bsize, nblocks);
}
template <typename E, typename Where>
void ibget(Where where, void* dest, const void* source, std::ptrdiff_t dst, std::ptrdiff_t sst,
           std::size_t bsize, std::size_t nblocks, int pe) {
  const int from = where.world_pe(pe);
  check_pe(direct_map, from, where.routine);
  if (bsize == 0 || nblocks == 0) return;
  const Blocks blocks = blocks_of<E>(where.routine, dst, sst, bsize, nblocks);
  const std::size_t span = span_of<E>(where.routine, "sst", sst, bsize, nblocks);
  const auto* there = find_copy(direct_map, source, span, from);
  if (!is_mapped(there) || may_be_on_device(dest)) [[unlikely]]
    return one_sided::get_blocks(where.routine, dest, source, blocks, from);
  copy_blocks(static_cast<E*>(dest), dst, reinterpret_cast<const E*>(there), sst, bsize, nblocks);
}
template <typename E, typename Where>
void iput(Where where, void* dest, const void* source, std::ptrdiff_t dst, std::ptrdiff_t sst,
          std::size_t nelems, int pe) {
  ibput<E>(where, dest, source, dst, sst, 1, nelems, pe);
}
template <typename E, typename Where>
void iget(Where where, void* dest, const void* source, std::ptrdiff_t dst, std::ptrdiff_t sst,
          std::size_t nelems, int pe) {
  ibget<E>(where, dest, source, dst, sst, 1, nelems, pe);
}

// A store of the processor would overtake data that a stream or the transport still holds. A signal in
// device memory has its place behind them on the stream.
[[gnu::cold, gnu::noinline]] void let_data_go_first(const char* routine,
                                                    const std::uint64_t* sig_addr) {
  if (is_in_segment(address_map, sig_addr, sizeof *sig_addr)) order_transfers(routine);
}

template <typename E, typename Where>
void put_signal(Where where, void* dest, const void* source, std::size_t nelems,
                std::uint64_t* sig_addr, std::uint64_t signal, int sig_op, int pe) {
  put<E>(where, dest, source, nelems, pe);
  if (pending_work.is_under_way()) [[unlikely]]
    let_data_go_first(where.routine, sig_addr);
  update_signal(where, sig_addr, signal, sig_op, pe);
}
template <typename E, typename Where>
void put_signal_nbi(Where where, void* dest, const void* source, std::size_t nelems,
                    std::uint64_t* sig_addr, std::uint64_t signal, int sig_op, int pe) {
  put_signal<E>(where, dest, source, nelems, sig_addr, signal, sig_op, pe);
}

}  // namespace

#define RMA(name, op, E, result, params, args)                                                     \
  MESHMEM_ENTRY(result, name, params) { return op<E>(Call{"shmem_" #name}, MESHMEM_UNWRAP args); } \
  MESHMEM_ENTRY(result, ctx_##name, MESHMEM_WITH_CTX params) {                                     \
    return op<E>(CallInContext{"shmem_ctx_" #name, ctx}, MESHMEM_UNWRAP args);                     \
  }
#define RMA_OF_TYPE(NAME, TYPE, rma, ext, amo, bit, arith, logic, unused) \
  MESHMEM_IN_##rma(MESHMEM_OPS_RMA(RMA, NAME##_, , TYPE, TYPE))           \
      MESHMEM_IN_##rma(MESHMEM_OPS_STRIDED(RMA, NAME##_, , TYPE, TYPE))   \
          MESHMEM_IN_##rma(MESHMEM_OPS_SINGLE(RMA, NAME##_, TYPE))
#define RMA_OF_SIZE(BITS, E, unused)    \
  MESHMEM_OPS_RMA(RMA, , BITS, E, void) \
  MESHMEM_OPS_STRIDED(RMA, , BITS, E, void)
MESHMEM_TYPES(RMA_OF_TYPE, )
MESHMEM_SIZES(RMA_OF_SIZE, )
MESHMEM_OPS_RMA(RMA, , mem, char, void)
#undef RMA
#undef RMA_OF_TYPE
#undef RMA_OF_SIZE

}  // namespace meshmem
