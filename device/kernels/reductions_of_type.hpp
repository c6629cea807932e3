// SPDX-License-Identifier: Apache-2.0
//
// The kernels of reductions and scans of a type, for the file that has them.
// Invariant: integers whose sign does not matter to an operation share the kernel of the unsigned
// type, so that no kernel is there twice in a file. A block of a reduction reduces its slice, on
// its channel, and waits for no other block.
#ifndef MESHMEM_DEVICE_KERNELS_REDUCTIONS_OF_TYPE_HPP_
#define MESHMEM_DEVICE_KERNELS_REDUCTIONS_OF_TYPE_HPP_

#include <algorithm>

#include "device/collectives/slices.hpp"
#include "device/kernels/launch_kernel.hpp"
#include "device/kernels/reductions.hpp"
#include "device/kernels/single_wide_line.hpp"
#include "device/routines.hpp"

namespace meshmem {
namespace device {
namespace {

// What a block does: two routines in one kernel, so that there are not twice as many.
template <ReduceKernel kernel, ReduceOp op, typename E>
MESHMEM_DEVICE void reduce_slice(ReduceAlgorithm algorithm, const TeamHandle& handle, E* dest,
                                 const E* source, const Slices& slices, bool scatter) {
  after_earlier_kernels();
  const auto channel = static_cast<int>(blockIdx.x);
  const Slice slice = slices.slice<E>(channel);
  reduce_by<kernel, op>(algorithm, Block(), TeamSync(handle, channel), dest + slice.first,
                        source + slice.first, slice.count, scatter ? slices.count : 0);
}
// By names of their own: the checks of instructions, and profilers, tell kernels apart by name.
template <ReduceOp op, typename E>
__global__ void __launch_bounds__(kThreads)
    reduce_packets_kernel(ReduceAlgorithm algorithm, const MESHMEM_GRID_CONSTANT TeamHandle handle,
                          E* dest, const E* source, const MESHMEM_GRID_CONSTANT Slices slices,
                          bool scatter) {
  reduce_slice<ReduceKernel::packets, op>(algorithm, handle, dest, source, slices, scatter);
}
template <ReduceOp op, typename E>
__global__ void __launch_bounds__(kThreads)
    reduce_wide_lines_kernel(ReduceAlgorithm algorithm,
                             const MESHMEM_GRID_CONSTANT TeamHandle handle, E* dest,
                             const E* source, const MESHMEM_GRID_CONSTANT Slices slices,
                             bool scatter) {
  reduce_slice<ReduceKernel::wide_lines, op>(algorithm, handle, dest, source, slices, scatter);
}
template <ReduceOp op, typename E>
__global__ void __launch_bounds__(kThreads)
    reduce_large_kernel(ReduceAlgorithm algorithm, const MESHMEM_GRID_CONSTANT TeamHandle handle,
                        E* dest, const E* source, const MESHMEM_GRID_CONSTANT Slices slices,
                        bool scatter) {
  reduce_slice<ReduceKernel::large, op>(algorithm, handle, dest, source, slices, scatter);
}
template <typename E>
__global__ void scan_kernel(const MESHMEM_GRID_CONSTANT TeamHandle handle, E* dest, const E* source,
                            std::size_t count, bool inclusive) {
  after_earlier_kernels();
  scan(Block(), TeamSync(handle), dest, source, count, inclusive);
}

// The type of the size, where the sign does not matter.
template <typename E>
using Signless = std::conditional_t<std::is_integral<E>::value, Bits<sizeof(E)>, E>;

// One operation with the type that its kernels have, as an argument of a choice.
template <ReduceOp op, typename E>
struct TypedOp {
  static constexpr ReduceOp kOp = op;
  using Type = E;
};

// The last of the operations that E has; the others come before it.
template <typename E>
constexpr ReduceOp kLastOp = std::is_integral<E>::value ? ReduceOp::bit_xor : ReduceOp::avg;

// f(TypedOp<op, E or U>()).
template <typename E, typename F>
hipError_t with_reduction_of(ReduceOp op, const F& f) {
  using U = Signless<E>;
  switch (op) {
    case ReduceOp::sum:
      return f(TypedOp<ReduceOp::sum, U>());
    case ReduceOp::prod:
      return f(TypedOp<ReduceOp::prod, U>());
    case ReduceOp::min:
      return f(TypedOp<ReduceOp::min, E>());
    case ReduceOp::max:
      return f(TypedOp<ReduceOp::max, E>());
    case ReduceOp::avg:
      return f(TypedOp<ReduceOp::avg, E>());
    default:
      break;
  }
  if constexpr (std::is_integral<E>::value) {
    if (op == ReduceOp::bit_and) return f(TypedOp<ReduceOp::bit_and, U>());
    if (op == ReduceOp::bit_or) return f(TypedOp<ReduceOp::bit_or, U>());
    if (op == ReduceOp::bit_xor) return f(TypedOp<ReduceOp::bit_xor, U>());
  }
  return hipErrorNotSupported;
}
}  // namespace

template <typename E>
hipError_t ReductionKernels<E>::launch_reduce(const ReduceLaunch& job) {
  return with_reduction_of<E>(job.op, [&](auto reduction) {
    using R = decltype(reduction);
    using U = typename R::Type;
    const int n_blocks = Slices::most<U>(job.count, job.plan.blocks);
    const dim3 blocks(static_cast<unsigned>(n_blocks));
    const auto wanted_threads = static_cast<unsigned>(job.plan.threads);
    const unsigned threads = std::min(wanted_threads, kThreads);
    const Slices slices = Slices::of<U>(job.count, n_blocks);
    auto* const dest = static_cast<U*>(job.dest);
    const auto* const source = static_cast<const U*>(job.source);
    const ChannelSpace& space = job.team.space;
    const ReduceAlgorithm algorithm =
        algorithm_in_kernel<U>(job.plan.algorithm, job.team.team.n, space, job.scatter);
    if (job.plan.algorithm == ReduceAlgorithm::one_shot && !job.scatter &&
        fits_single_unit<U>(job.team, slices, static_cast<int>(threads))) {
      return launch(reduce_single_unit_kernel<R::kOp, U>, blocks, threads, job.stream, job.team,
                    SingleHop(job.team, slices, RowsOfChannel::packets(space)), dest, source);
    }
#if defined(MESHMEM_TARGET_IS_CUDA)
    if constexpr (kHasWideLines<U>) {
      if (algorithm == ReduceAlgorithm::one_shot_wide &&
          fits_single_wide_line<U>(job.team, slices, static_cast<int>(threads))) {
        return launch(reduce_single_wide_line_kernel<R::kOp, U>, blocks, threads, job.stream,
                      job.team, SingleHop(job.team, slices, RowsOfChannel::wide_lines(space)), dest,
                      source);
      }
      if (algorithm == ReduceAlgorithm::two_shot_wide &&
          fits_single_wide_line_in_two_hops<U>(job.team, slices)) {
        return launch(reduce_single_wide_line_two_hops_kernel<R::kOp, U>, blocks,
                      std::min(wanted_threads, unsigned{kMostThreadsOfTwoShotWide}), job.stream,
                      job.team, SingleHop(job.team, slices, RowsOfChannel::wide_lines(space)),
                      results_in_row(space), dest, source);
      }
    }
#endif
    const auto launch_this = [&](auto kernel) {
      return launch(kernel, blocks, threads, job.stream, algorithm, job.team, dest, source, slices,
                    job.scatter);
    };
    switch (kernel_of(algorithm)) {
      case ReduceKernel::large:
        return launch_this(reduce_large_kernel<R::kOp, U>);
      case ReduceKernel::wide_lines:
        if constexpr (kHasWideLines<U>) return launch_this(reduce_wide_lines_kernel<R::kOp, U>);
      default:
        return launch_this(reduce_packets_kernel<R::kOp, U>);
    }
  });
}

template <typename E>
hipError_t ReductionKernels<E>::launch_scan(const ScanLaunch& job) {
  using U = Signless<E>;
  return launch(scan_kernel<U>, dim3(1), kThreads, job.stream, job.team, static_cast<U*>(job.dest),
                static_cast<const U*>(job.source), job.count, job.inclusive);
}

template <typename E>
hipError_t ReductionKernels<E>::load_all() {
  hipError_t error = load(scan_kernel<Signless<E>>);
  for (int op = 0; error == hipSuccess && op <= static_cast<int>(kLastOp<E>); ++op) {
    error = with_reduction_of<E>(static_cast<ReduceOp>(op), [](auto reduction) {
      using R = decltype(reduction);
      using U = typename R::Type;
      hipError_t loaded = load(reduce_packets_kernel<R::kOp, U>, reduce_large_kernel<R::kOp, U>,
                               reduce_single_unit_kernel<R::kOp, U>);
      if constexpr (kHasWideLines<U>) {
        if (loaded == hipSuccess) loaded = load(reduce_wide_lines_kernel<R::kOp, U>);
#if defined(MESHMEM_TARGET_IS_CUDA)
        if (loaded == hipSuccess)
          loaded = load(reduce_single_wide_line_kernel<R::kOp, U>,
                        reduce_single_wide_line_two_hops_kernel<R::kOp, U>);
#endif
      }
      return loaded;
    });
  }
  return error;
}

#if defined(MESHMEM_TARGET_IS_CPU)
template <typename E>
hipError_t ReductionKernels<E>::reduce_by_one_thread(const ReduceByOneThread& job) {
  if (job.form == ReduceForm::inclusive_scan || job.form == ReduceForm::exclusive_scan) {
    using U = Signless<E>;
    scan(Thread(), job.sync, static_cast<U*>(job.dest), static_cast<const U*>(job.source),
         job.count, job.form == ReduceForm::inclusive_scan);
    return hipSuccess;
  }
  return with_reduction_of<E>(job.op, [&job](auto reduction) {
    using R = decltype(reduction);
    auto* const dest = static_cast<typename R::Type*>(job.dest);
    const auto* const source = static_cast<const typename R::Type*>(job.source);
    if (job.form == ReduceForm::scatter)
      reduce_scatter<R::kOp>(Thread(), job.sync, dest, source, job.count);
    else
      reduce<R::kOp>(Thread(), job.sync, dest, source, job.count);
    return hipSuccess;
  });
}
#endif

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_KERNELS_REDUCTIONS_OF_TYPE_HPP_
