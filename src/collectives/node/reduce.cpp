// SPDX-License-Identifier: Apache-2.0
//
// Reductions on host memory: by the algorithm that the policy chooses.
// Invariant: every algorithm that the table gives to the host is called here. Called by dispatch.
#include <cstring>

#include "collectives/policy/reduce_policy.hpp"
#include "collectives/reduction.hpp"

namespace meshmem {
namespace {

#define CASE_true(name)       \
  case ReduceAlgorithm::name: \
    return reduce_##name(team, op, dest, source, count);
#define CASE_false(name)
void reduce_by(ReduceAlgorithm algorithm, NodeTeam& team, const Reduction& op, void* dest,
               const void* source, std::size_t count) {
  switch (algorithm) {
#define MESHMEM_ALGORITHM(name, host, ...) CASE_##host(name)
#include "device/collectives/algorithms.def"
#undef MESHMEM_ALGORITHM
    default:
      return;  // the policy gives the host no algorithm of kernels alone
  }
}
#undef CASE_false
#undef CASE_true

}  // namespace

void reduce(NodeTeam& team, const Reduction& op, void* dest, const void* source,
            std::size_t count) {
  if (count == 0) return;
  const std::size_t bytes = count * op.elem_bytes;
  if (team.n == 1) {
    if (dest != source) std::memcpy(dest, source, bytes);
    return;
  }
  reduce_by(reduce_policy.host_algorithm(bytes, team.n), team, op, dest, source, count);
  finish(op, dest, count, team.n);  // all have left: dest is this PE's alone again
}

}  // namespace meshmem
