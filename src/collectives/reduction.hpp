// SPDX-License-Identifier: Apache-2.0
//
// Reductions over a team: the types are gone (a Reduction knows how to combine two runs of
// elements), the algorithms remain.
// Invariant: for a given algorithm and number of PEs the order in which elements are combined is
// fixed, so results are the same bit for bit. dest == source or disjoint. Called by the API and by
// the splits of teams.
#ifndef MESHMEM_COLLECTIVES_REDUCTION_HPP_
#define MESHMEM_COLLECTIVES_REDUCTION_HPP_

#include <cstddef>
#include <optional>

#include "base/environment.hpp"
#include "core/team.hpp"
#include "device/operations.hpp"

namespace meshmem {

// dest[i] = a[i] op b[i]; dest may be a or b.
using Combine = void (*)(void* dest, const void* a, const void* b, std::size_t count);

struct Reduction {
  Combine combine;
  std::size_t elem_bytes;
  // What kernels call it.
  device::ReduceOp kernel_op = device::ReduceOp::sum;
  device::ElemType kernel_type = device::ElemType::none;
  // What is left to do when `count` elements of n PEs are combined; null for nothing.
  void (*finish)(void* elems, std::size_t count, int n) = nullptr;
};

inline void finish(const Reduction& op, void* elems, std::size_t count, int n) {
  if (op.finish) op.finish(elems, count, n);
}

// Chooses an algorithm and runs it.
void reduce(Team& team, const Reduction& op, void* dest, const void* source, std::size_t count);

// Of the blocks of `count` elements that each source has, one for each PE: PE i gets the reduction of
// the blocks i, combined in PE order. dest may be this PE's own block of source.
void reduce_scatter(Team& team, const Reduction& op, void* dest, const void* source,
                    std::size_t count);

// A slice of at most so many bytes stays in the first-level cache while it is worked on.
inline constexpr std::size_t kSliceBytes = 16 * 1024;
// dest is what all PEs, two or more, have at this place of their sources, combined in PE order; dest may
// be source.
void combine_slice(const Team& team, const Reduction& op, void* dest, const void* source,
                   std::size_t count);

// The ring's line counts steps of operations: the sequence number, shifted by so many bits, and the
// step. Few bits for the step, so that a line that saw no ring for a long time (2^49 operations)
// still compares as the past.
inline constexpr int kRingStepBits = 14;

// The algorithms, for teams of two PEs or more. reduce() does the rest.
//
// Every PE shows its data to all and combines all of it, in PE order. Least latency; n times the
// work.
void reduce_one_shot(Team& team, const Reduction& op, void* dest, const void* source,
                     std::size_t count);
// Every PE combines its chunk of all PEs' sources, in PE order, and writes the result to all.
// Nothing is staged.
void reduce_two_shot(Team& team, const Reduction& op, void* dest, const void* source,
                     std::size_t count);
// Partial sums travel around a ring, then the results do: each PE reads from its neighbour only.
void reduce_ring(Team& team, const Reduction& op, void* dest, const void* source,
                 std::size_t count);
// log2 n exchanges of everything.
void reduce_recursive_doubling(Team& team, const Reduction& op, void* dest, const void* source,
                               std::size_t count);

// What `auto` means; set from the environment at start-up.
struct ReductionChoice {
  ReduceAlgorithm forced = ReduceAlgorithm::automatic;
  std::optional<std::size_t> ring_min_bytes;
  bool deterministic = false;
  // Of kernels, on device memory.
  std::optional<unsigned> device_blocks{};
  std::optional<unsigned> device_threads{};
};
extern constinit ReductionChoice reduction_choice;

// One of the four above or direct, if the environment says which; nullopt leaves it to a table.
std::optional<ReduceAlgorithm> forced_algorithm(const ReductionChoice& choice, std::size_t bytes);

ReduceAlgorithm choose_reduce_algorithm(const ReductionChoice& choice, std::size_t bytes,
                                        int n_pes);

}  // namespace meshmem

#endif  // MESHMEM_COLLECTIVES_REDUCTION_HPP_
