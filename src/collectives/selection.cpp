// SPDX-License-Identifier: Apache-2.0
//
// Which algorithm a reduction takes: one table of measured thresholds.
// Invariant: the answer depends only on what all PEs have in common. Called by every reduction.
#include <cstring>
#include <iterator>

#include "collectives/reduction.hpp"

namespace meshmem {

constinit ReductionChoice reduction_choice;

namespace {

// The first row that fits. Measured with `./mesh bench` (docs/collectives.md): reading all is
// fastest as long as the data fits in a few cache lines' time; then sharing the work wins. Ring and
// recursive doubling win nowhere within one machine, where every PE reads every other directly;
// they are there for what has no such reach, and to compare.
struct Threshold {
  std::size_t max_bytes;
  int max_pes;
  ReduceAlgorithm algorithm;
};
constexpr Threshold kThresholds[] = {
    {512, 2, ReduceAlgorithm::one_shot},
    {1024, 4, ReduceAlgorithm::one_shot},
    {512, 1 << 30, ReduceAlgorithm::one_shot},
    {~std::size_t{0}, 1 << 30, ReduceAlgorithm::two_shot},
};

// What `classic` changes at, unless the environment says so: the convention of older libraries.
constexpr std::size_t kClassicRingMinBytes = (std::size_t{32} << 10) + 1;

bool adds_in_pe_order(ReduceAlgorithm algorithm) {
  return algorithm != ReduceAlgorithm::ring && algorithm != ReduceAlgorithm::ring_and_copies &&
         algorithm != ReduceAlgorithm::recursive_doubling;
}

ReduceAlgorithm by_table(std::size_t bytes, int n_pes) {
  for (const Threshold& row : kThresholds) {
    if (bytes <= row.max_bytes && n_pes <= row.max_pes) return row.algorithm;
  }
  return ReduceAlgorithm::two_shot;
}

}  // namespace

std::optional<ReduceAlgorithm> forced_algorithm(const ReductionChoice& choice, std::size_t bytes) {
  ReduceAlgorithm algorithm = choice.forced;
  if (algorithm == ReduceAlgorithm::automatic) {
    if (!choice.ring_min_bytes || bytes < *choice.ring_min_bytes) return std::nullopt;
    algorithm = ReduceAlgorithm::ring;
  } else if (algorithm == ReduceAlgorithm::classic) {
    algorithm = bytes < choice.ring_min_bytes.value_or(kClassicRingMinBytes)
                    ? ReduceAlgorithm::recursive_doubling
                    : ReduceAlgorithm::ring;
  }
  if (choice.deterministic && !adds_in_pe_order(algorithm)) return std::nullopt;
  return algorithm;
}

ReduceAlgorithm choose_reduce_algorithm(const ReductionChoice& choice, std::size_t bytes,
                                        int n_pes) {
  const ReduceAlgorithm algorithm =
      forced_algorithm(choice, bytes).value_or(by_table(bytes, n_pes));
  switch (algorithm) {  // those of kernels alone
    case ReduceAlgorithm::one_shot_wide:
      return ReduceAlgorithm::one_shot;
    case ReduceAlgorithm::ring_and_copies:
      return ReduceAlgorithm::ring;
    case ReduceAlgorithm::direct:
    case ReduceAlgorithm::pull:
    case ReduceAlgorithm::two_shot_wide:
      return ReduceAlgorithm::two_shot;
    default:
      return algorithm;
  }
}

namespace {

void combine_all(ReduceAlgorithm algorithm, Team& team, const Reduction& op, void* dest,
                 const void* source, std::size_t count) {
  switch (algorithm) {
    case ReduceAlgorithm::recursive_doubling:
      return reduce_recursive_doubling(team, op, dest, source, count);
    case ReduceAlgorithm::ring:
      return reduce_ring(team, op, dest, source, count);
    case ReduceAlgorithm::one_shot:
      return reduce_one_shot(team, op, dest, source, count);
    default:
      return reduce_two_shot(team, op, dest, source, count);
  }
}

}  // namespace

void reduce(Team& team, const Reduction& op, void* dest, const void* source, std::size_t count) {
  if (count == 0) return;
  const std::size_t bytes = count * op.elem_bytes;
  if (team.n == 1) {
    if (dest != source) std::memcpy(dest, source, bytes);
    return;
  }
  combine_all(choose_reduce_algorithm(reduction_choice, bytes, team.n), team, op, dest, source,
              count);
  finish(op, dest, count, team.n);  // all have left: dest is this PE's alone again
}

}  // namespace meshmem
