// SPDX-License-Identifier: Apache-2.0
//
// Reductions without element types, and the host's reductions within a node. A Reduction knows how
// to combine two runs of elements.
// Invariant: for a given algorithm and number of PEs the order in which elements are combined is
// fixed, so results are the same bit for bit. dest == source or disjoint. Called by dispatch.
#ifndef MESHMEM_COLLECTIVES_REDUCTION_HPP_
#define MESHMEM_COLLECTIVES_REDUCTION_HPP_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/node_team.hpp"
#include "device/operations.hpp"

namespace meshmem {

// dest[i] = a[i] op b[i]; dest may be a or b. Operands other than dest may begin at any byte.
using Combine = void (*)(void* dest, const void* a, const void* b, std::size_t count);

// How elements that are too short for partial results, such as half, are combined: as wider
// elements, which are rounded once at the end.
struct Carrier {
  Combine combine;
  std::size_t elem_bytes;
  void (*widen)(void* wide, const void* elems, std::size_t count);
  void (*narrow)(void* elems, const void* wide, std::size_t count);  // elems may be wide
  void (*finish)(void* wide, std::size_t count, int n) = nullptr;    // as in Reduction
};

struct Reduction {
  Combine combine;
  std::size_t elem_bytes;
  // The operation and type by which kernels know this reduction.
  device::ReduceOp kernel_op = device::ReduceOp::sum;
  device::ElemType kernel_type = device::ElemType::none;
  // The last step, once the elements of all n PEs are combined; null: none.
  void (*finish)(void* elems, std::size_t count, int n) = nullptr;
  const Carrier* carrier = nullptr;  // null: elements are combined as they are
  bool any_order = false;            // also on a team with a fixed order
};

inline void finish(const Reduction& op, void* elems, std::size_t count, int n) {
  if (op.finish) op.finish(elems, count, n);
}

// Returns `op` itself, or the reduction of the wider elements if `op` has a carrier.
inline Reduction as_combined(const Reduction& op) {
  if (!op.carrier) return op;
  Reduction combined{op.carrier->combine, op.carrier->elem_bytes};
  combined.finish = op.carrier->finish;
  return combined;
}

// Reduces by the algorithm that ReducePolicy chooses.
void reduce(NodeTeam& team, const Reduction& op, void* dest, const void* source, std::size_t count);

// Each source has a block of `count` elements for each PE. PE i gets the reduction of all blocks i,
// combined in PE order. dest may be this PE's own block of source.
void reduce_scatter(NodeTeam& team, const Reduction& op, void* dest, const void* source,
                    std::size_t count);

// A tile of at most this many bytes stays in the first-level cache while it is worked on.
inline constexpr std::size_t kTileBytes = 16 * 1024;
// dest = term(0) op term(1) ..., of `n` >= 2 terms of at most kTileBytes. term(i) returns the
// address of term i; dest may be term `own`, at the same address.
template <typename Term>
void combine_terms(const Reduction& op, void* dest, std::size_t count, int n, int own,
                   const Term& term) {
  const std::size_t bytes = count * op.elem_bytes;
  // The first two terms are read before dest is written. A later one that is dest is kept aside.
  alignas(kCacheLine) std::byte kept[kTileBytes];
  const bool is_kept = own >= 2 && dest == term(own);
  if (is_kept) std::memcpy(kept, dest, bytes);
  op.combine(dest, term(0), term(1), count);
  for (int i = 2; i < n; ++i) op.combine(dest, dest, is_kept && i == own ? kept : term(i), count);
}
// dest = what all PEs, two or more, have at this place of their sources, combined in PE order: at
// most kTileBytes. dest may be source.
void combine_tile(const NodeTeam& team, const Reduction& op, void* dest, const void* source,
                  std::size_t count);

// The host's algorithms in device/collectives/algorithms.def: reduce_one_shot() and so on, each in
// a file of its name. For teams of two PEs or more; the last step of the Reduction is the caller's.
#define MESHMEM_DECLARE_true(name)                                                        \
  void reduce_##name(NodeTeam& team, const Reduction& op, void* dest, const void* source, \
                     std::size_t count);
#define MESHMEM_DECLARE_false(name)
#define MESHMEM_ALGORITHM(name, host, ...) MESHMEM_DECLARE_##host(name)
#include "device/collectives/algorithms.def"
#undef MESHMEM_ALGORITHM
#undef MESHMEM_DECLARE_false
#undef MESHMEM_DECLARE_true

}  // namespace meshmem

#endif  // MESHMEM_COLLECTIVES_REDUCTION_HPP_
