// SPDX-License-Identifier: Apache-2.0
//
// A call of a collective as one value: what the API, a stream or a kernel asks for, and what each
// executor runs.
// Invariant: element types are gone. An element is a number of bytes, and a Reduction knows how to
// combine elements. A new collective needs a kind, its buffers here, and a case in each executor
// that runs it.
#ifndef MESHMEM_COLLECTIVES_COLLECTIVE_HPP_
#define MESHMEM_COLLECTIVES_COLLECTIVE_HPP_

#include <cstddef>
#include <cstdint>

#include "collectives/reduction.hpp"
#include "device/launch.hpp"
#include "device/operations.hpp"
#include "memory/argument_checks.hpp"

namespace meshmem {

using device::CollectiveKind;

struct Collective {
  CollectiveKind kind;
  int root = 0;
  void* dest = nullptr;
  const void* source = nullptr;
  // Number of elements: of all data of a broadcast, reduction or scan. In a collect or fcollect, of
  // the block that this PE brings. In an alltoall or reduce-scatter, of its block for each PE.
  std::size_t count = 0;
  std::size_t elem_bytes = 1;
  // For alltoalls: element k of a buffer lies at k * stride elements. The blocks follow each other.
  std::ptrdiff_t dest_stride = 1, source_stride = 1;
  // The caller keeps these two alive until the call ends.
  const Reduction* op = nullptr;               // of reductions and scans
  const device::Alltoallv* varying = nullptr;  // of alltoallv: the lengths and places of its blocks
  bool root_has_dest = true;  // a broadcast over an active set leaves the root's dest as it is

  std::size_t bytes() const { return count * elem_bytes; }
  bool is_dense() const { return dest_stride == 1 && source_stride == 1; }
  // Where PE `me` of the team has the data after a broadcast: a root without dest has it in its
  // source.
  void* dest_of_broadcast(int me) const {
    return root_has_dest || me != root ? dest : const_cast<void*>(source);
  }
};

// A call that moves bytes: broadcast, collect or fcollect.
inline Collective moving(CollectiveKind kind, void* dest, const void* source, std::size_t bytes,
                         int root = 0) {
  return {.kind = kind, .root = root, .dest = dest, .source = source, .count = bytes};
}
// An alltoall of elements at strides.
inline Collective alltoalls_of(void* dest, const void* source, std::size_t elem_bytes,
                               std::size_t count, std::ptrdiff_t dst, std::ptrdiff_t sst) {
  return {.kind = CollectiveKind::alltoalls,
          .dest = dest,
          .source = source,
          .count = count,
          .elem_bytes = elem_bytes,
          .dest_stride = dst,
          .source_stride = sst};
}
inline Collective alltoall_of(void* dest, const void* source, std::size_t elem_bytes,
                              std::size_t count) {
  Collective call = alltoalls_of(dest, source, elem_bytes, count, 1, 1);
  call.kind = CollectiveKind::alltoall;
  return call;
}
inline Collective alltoallv_of(const device::Alltoallv& varying) {
  return {.kind = CollectiveKind::alltoallv,
          .dest = varying.dest,
          .source = varying.source,
          .elem_bytes = varying.elem_bytes,
          .varying = &varying};
}
// A call that combines elements: a reduction or scan.
inline Collective combining(CollectiveKind kind, const Reduction& op, void* dest,
                            const void* source, std::size_t count) {
  return {.kind = kind,
          .dest = dest,
          .source = source,
          .count = count,
          .elem_bytes = op.elem_bytes,
          .op = &op};
}

// The buffers of a call. Each length reaches from the first to the last element, as far as it is
// known beforehand. In a collect it is what this PE brings itself, in an alltoallv 0.
struct Buffers {
  const void* dest;
  std::size_t dest_bytes;
  const void* source;
  std::size_t source_bytes;
};

// The bytes from the first to the last element of `n` blocks at a stride. `name`: what the standard
// calls the stride, for the message that ends the job if the stride is wrong.
[[gnu::always_inline]] inline std::size_t span_of(const char* routine, int n,
                                                  const Collective& call, const char* name,
                                                  std::ptrdiff_t stride) {
  const std::size_t block = bytes_of(routine, call.count, call.elem_bytes);
  if (stride == 1) return bytes_of(routine, static_cast<std::size_t>(n), block);
  const std::size_t elems = bytes_of(routine, static_cast<std::size_t>(n), call.count);
  std::ptrdiff_t before_last = 0, bytes = 0;
  if (elems == 0) return 0;
  if (stride < 0 || __builtin_mul_overflow(elems - 1, stride, &before_last) ||
      __builtin_mul_overflow(static_cast<std::size_t>(before_last) + 1, call.elem_bytes, &bytes))
    refuse_stride(routine, name, stride, elems);
  return static_cast<std::size_t>(bytes);
}

[[gnu::always_inline]] inline Buffers buffers_of(const char* routine, int n,
                                                 const Collective& call) {
  const auto block = [&] { return bytes_of(routine, call.count, call.elem_bytes); };
  const auto all = [&] { return bytes_of(routine, static_cast<std::size_t>(n), block()); };
  switch (call.kind) {
    case CollectiveKind::sync:
    case CollectiveKind::alltoallv:
      return {call.dest, 0, call.source, 0};
    case CollectiveKind::fcollect:
      return {call.dest, all(), call.source, block()};
    case CollectiveKind::reduce_scatter:
      return {call.dest, block(), call.source, all()};
    case CollectiveKind::alltoall:
    case CollectiveKind::alltoalls:
      return {call.dest, span_of(routine, n, call, "dst", call.dest_stride), call.source,
              span_of(routine, n, call, "sst", call.source_stride)};
    default:
      return {call.dest, block(), call.source, block()};
  }
}

}  // namespace meshmem

#endif  // MESHMEM_COLLECTIVES_COLLECTIVE_HPP_
