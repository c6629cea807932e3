// SPDX-License-Identifier: Apache-2.0
//
// Reductions by any algorithm: a given one, or the choice for groups in users' kernels.
// Invariant: the choice depends only on values that all PEs have in common. A call without elements
// does nothing, on all PEs alike.
#ifndef MESHMEM_DEVICE_COLLECTIVES_REDUCE_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_REDUCE_HPP_

#include <type_traits>

#include "device/collectives/algorithms.hpp"
#define MESHMEM_INCLUDE_REDUCTIONS
#define MESHMEM_ALGORITHM(...)
#include "device/collectives/algorithms.def"
#undef MESHMEM_ALGORITHM
#undef MESHMEM_INCLUDE_REDUCTIONS

namespace meshmem {
namespace device {

// Not for narrow integers: a line of 128 bytes holds many of them, which takes too much code.
#if defined(MESHMEM_TARGET_IS_CUDA)
template <typename E>
constexpr bool kHasWideLines = sizeof(E) >= 4 || !std::is_integral<E>::value;
#else
template <typename E>
constexpr bool kHasWideLines = false;
#endif

template <ReduceKernel kernel, typename E>
constexpr bool kHasKernel = kernel != ReduceKernel::wide_lines || kHasWideLines<E>;

MESHMEM_HOST_DEVICE ReduceKernel kernel_of(ReduceAlgorithm algorithm) {
  switch (algorithm) {
#define MESHMEM_ALGORITHM(name, host, kernel, ...) \
  case ReduceAlgorithm::name:                      \
    return ReduceKernel::kernel;
#include "device/collectives/algorithms.def"
#undef MESHMEM_ALGORITHM
  }
  return ReduceKernel::none;
}
MESHMEM_HOST_DEVICE bool can_scatter(ReduceAlgorithm algorithm) {
  switch (algorithm) {
#define MESHMEM_ALGORITHM(name, host, kernel, scatters, ...) \
  case ReduceAlgorithm::name:                                \
    return scatters;
#include "device/collectives/algorithms.def"
#undef MESHMEM_ALGORITHM
  }
  return false;
}
MESHMEM_HOST_DEVICE ReduceAlgorithm fallback_of(ReduceAlgorithm algorithm) {
  switch (algorithm) {
#define MESHMEM_ALGORITHM(name, host, kernel, scatters, fallback, ...) \
  case ReduceAlgorithm::name:                                          \
    return ReduceAlgorithm::fallback;
#include "device/collectives/algorithms.def"
#undef MESHMEM_ALGORITHM
  }
  return algorithm;
}

// The algorithm that kernels run if they are asked for `algorithm`.
template <typename E>
MESHMEM_HOST_DEVICE ReduceAlgorithm algorithm_in_kernel(ReduceAlgorithm algorithm, int n_pes,
                                                        const ChannelSpace& space, bool scatter) {
  if (n_pes == 1 || (scatter && !can_scatter(algorithm))) return ReduceAlgorithm::one_shot;
  const ReduceKernel kernel = kernel_of(algorithm);
  const bool lacks_lines =
      kernel == ReduceKernel::wide_lines && !(kHasWideLines<E> && space.wide_row > 0);
  return kernel == ReduceKernel::none || lacks_lines ? fallback_of(algorithm) : algorithm;
}

// By one of the algorithms that `kernel` has. apart: 0, or for a scatter how far apart the source's
// blocks for the PEs are.
template <ReduceKernel kernel, typename Op, typename E, typename Group>
MESHMEM_DEVICE void reduce_by(const Op& op, ReduceAlgorithm algorithm, const Group& group,
                              const TeamSync& sync, E* dest, const E* source, std::size_t count,
                              [[maybe_unused]] std::size_t apart) {
  if (count == 0) return;
#define MESHMEM_CALL_true(name) reduce_##name(op, group, sync, dest, source, count, apart)
#define MESHMEM_CALL_false(name) reduce_##name(op, group, sync, dest, source, count)
#define MESHMEM_IN_KERNEL(which, name, scatters)                                       \
  if constexpr (kernel == ReduceKernel::which && kHasKernel<ReduceKernel::which, E>) { \
    if (algorithm == ReduceAlgorithm::name) return MESHMEM_CALL_##scatters(name);      \
  }
#define MESHMEM_IN_packets(name, scatters) MESHMEM_IN_KERNEL(packets, name, scatters)
#define MESHMEM_IN_large(name, scatters) MESHMEM_IN_KERNEL(large, name, scatters)
#if defined(MESHMEM_TARGET_IS_CUDA)
#define MESHMEM_IN_wide_lines(name, scatters) MESHMEM_IN_KERNEL(wide_lines, name, scatters)
#else
#define MESHMEM_IN_wide_lines(name, scatters)
#endif
#define MESHMEM_IN_none(name, scatters)
#define MESHMEM_ALGORITHM(name, host, kernel, scatters, ...) MESHMEM_IN_##kernel(name, scatters)
#include "device/collectives/algorithms.def"
#undef MESHMEM_ALGORITHM
#undef MESHMEM_IN_none
#undef MESHMEM_IN_wide_lines
#undef MESHMEM_IN_large
#undef MESHMEM_IN_packets
#undef MESHMEM_IN_KERNEL
#undef MESHMEM_CALL_false
#undef MESHMEM_CALL_true
}

// By any of them.
template <typename Op, typename E, typename Group>
MESHMEM_DEVICE void reduce_by(const Op& op, ReduceAlgorithm algorithm, const Group& group,
                              const TeamSync& sync, E* dest, const E* source, std::size_t count) {
  algorithm = algorithm_in_kernel<E>(algorithm, sync.team.n, sync.space, false);
  switch (kernel_of(algorithm)) {
    case ReduceKernel::large:
      return reduce_by<ReduceKernel::large>(op, algorithm, group, sync, dest, source, count, 0);
    case ReduceKernel::wide_lines:
      return reduce_by<ReduceKernel::wide_lines>(op, algorithm, group, sync, dest, source, count,
                                                 0);
    default:
      return reduce_by<ReduceKernel::packets>(op, algorithm, group, sync, dest, source, count, 0);
  }
}

MESHMEM_DEVICE ReduceAlgorithm algorithm_within(const ReduceLimits& limits, const TeamSync& sync,
                                                std::size_t bytes) {
  if (bytes <= limits.one_shot || sync.team.n == 1) return ReduceAlgorithm::one_shot;
  return bytes <= limits.two_shot ? ReduceAlgorithm::two_shot : ReduceAlgorithm::pull;
}

// The algorithms that groups in users' kernels have.
template <typename Op, typename E, typename Group>
MESHMEM_DEVICE void reduce_in_pe_order(const Op& op, ReduceAlgorithm algorithm, const Group& group,
                                       const TeamSync& sync, E* dest, const E* source,
                                       std::size_t count) {
  if (algorithm == ReduceAlgorithm::one_shot) {
    reduce_one_shot(op, group, sync, dest, source, count);
  } else if (algorithm == ReduceAlgorithm::two_shot) {
    reduce_two_shot(op, group, sync, dest, source, count);
  } else {
    reduce_pull(op, group, sync, dest, source, count);
  }
}

template <typename Group>
MESHMEM_DEVICE const ReduceLimits& limits_of() {
  const KernelReduceLimits& limits = state().reduce_limits;
  return std::is_same<Group, Thread>::value ? limits.thread
         : std::is_same<Group, Wave>::value ? limits.wave
                                            : limits.block;
}

template <typename Op, typename E, typename Group>
MESHMEM_DEVICE void reduce_as(const Op& op, const Group& group, const TeamSync& sync, E* dest,
                              const E* source, std::size_t count) {
  if (count == 0) return;
  reduce_in_pe_order(op, algorithm_within(limits_of<Group>(), sync, count * sizeof(E)), group, sync,
                     dest, source, count);
}
template <ReduceOp op, typename E, typename Group>
MESHMEM_DEVICE int reduce(const Group& group, const TeamSync& sync, E* dest, const E* source,
                          std::size_t count) {
  reduce_as(KnownOp<op>(), group, sync, dest, source, count);
  return 0;
}

// PE i gets the reduction of block i, `count` elements.
template <typename Op, typename E, typename Group>
MESHMEM_DEVICE void reduce_scatter_as(const Op& op, const Group& group, const TeamSync& sync,
                                      E* dest, const E* source, std::size_t count) {
  if (count > 0) reduce_one_shot(op, group, sync, dest, source, count, count);
}
template <ReduceOp op, typename E, typename Group>
MESHMEM_DEVICE int reduce_scatter(const Group& group, const TeamSync& sync, E* dest,
                                  const E* source, std::size_t count) {
  reduce_scatter_as(KnownOp<op>(), group, sync, dest, source, count);
  return 0;
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_REDUCE_HPP_
