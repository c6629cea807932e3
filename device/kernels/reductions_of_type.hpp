// SPDX-License-Identifier: Apache-2.0
//
// The kernels of one element type that reduce, scan and combine. The files made from
// reductions_of_types.cpp.in include it.
// Invariant: a signed type shares the kernels of the unsigned type of its size, so a file with both
// has each kernel once. A block of a reduction reduces its slice, on its channel, and waits for no
// other block.
#ifndef MESHMEM_DEVICE_KERNELS_REDUCTIONS_OF_TYPE_HPP_
#define MESHMEM_DEVICE_KERNELS_REDUCTIONS_OF_TYPE_HPP_

#include <algorithm>
#include <optional>

#include "device/collectives/slices.hpp"
#include "device/kernels/launch_kernel.hpp"
#include "device/kernels/reductions.hpp"
#include "device/kernels/single_wide_line.hpp"
#include "device/routines.hpp"

namespace meshmem {
namespace device {
namespace {

// A block's work. Reduce and reduce-scatter are one kernel, so that the library does not have twice
// as many kernels.
template <ReduceKernel kernel, typename Op, typename E>
MESHMEM_DEVICE void reduce_slice(const Op& op, ReduceAlgorithm algorithm, const TeamHandle& handle,
                                 E* dest, const E* source, const Slices& slices,
                                 std::size_t spacing) {
  after_earlier_kernels();
  const auto channel = static_cast<int>(blockIdx.x);
  const Slice slice = slices.slice<E>(channel);
  reduce_by<kernel>(op, algorithm, Block(), TeamSync(handle, channel), dest + slice.first,
                    source + slice.first, slice.count, spacing);
}
// The kernels have names of their own, since profilers and the checks of instructions tell them
// apart by name. `known`: the only algorithm that the kernel is compiled for, if any; it replaces
// the argument (see with_packets_kernel()).
template <typename Op, typename E, ReduceAlgorithm... known>
__global__ void __launch_bounds__(kThreads)
    reduce_packets_kernel(ReduceAlgorithm algorithm, const MESHMEM_GRID_CONSTANT TeamHandle handle,
                          E* dest, const E* source, const MESHMEM_GRID_CONSTANT Slices slices,
                          std::size_t spacing, Op op) {
  ((algorithm = known), ...);
  reduce_slice<ReduceKernel::packets>(op, algorithm, handle, dest, source, slices, spacing);
}
template <typename Op, typename E>
__global__ void __launch_bounds__(kThreads)
    reduce_large_kernel(ReduceAlgorithm algorithm, const MESHMEM_GRID_CONSTANT TeamHandle handle,
                        E* dest, const E* source, const MESHMEM_GRID_CONSTANT Slices slices,
                        std::size_t spacing, Op op) {
  reduce_slice<ReduceKernel::large>(op, algorithm, handle, dest, source, slices, spacing);
}
// Calls f with the algorithm's kernel. On AMD GPUs each algorithm has its own: one kernel for all
// would keep the values of all in scalar registers, which are too few for that.
template <typename Op, typename E, typename F>
hipError_t with_packets_kernel([[maybe_unused]] ReduceAlgorithm algorithm, const F& f) {
#if defined(MESHMEM_TARGET_IS_HIP)
  if (algorithm == ReduceAlgorithm::two_shot)
    return f(reduce_packets_kernel<Op, E, ReduceAlgorithm::two_shot>);
  if (algorithm == ReduceAlgorithm::recursive_doubling)
    return f(reduce_packets_kernel<Op, E, ReduceAlgorithm::recursive_doubling>);
  return f(reduce_packets_kernel<Op, E, ReduceAlgorithm::one_shot>);
#else
  return f(reduce_packets_kernel<Op, E>);
#endif
}
template <typename Op, typename E>
hipError_t load_packets_kernels() {
  hipError_t error = hipSuccess;
  for (const auto algorithm :
       {ReduceAlgorithm::one_shot, ReduceAlgorithm::two_shot, ReduceAlgorithm::recursive_doubling})
    if (error == hipSuccess)
      error = with_packets_kernel<Op, E>(algorithm, [](auto* kernel) { return load(kernel); });
  return error;
}
template <typename E>
__global__ void scan_kernel(const MESHMEM_GRID_CONSTANT TeamHandle handle, E* dest, const E* source,
                            std::size_t count, bool inclusive) {
  after_earlier_kernels();
  scan(Block(), TeamSync(handle), dest, source, count, inclusive);
}

// Stores a unit's elements, as totals if `wide`, else rounded to E.
template <typename E>
MESHMEM_DEVICE void store_total(void* to, std::size_t count, std::size_t u,
                                const UnitTotal<E>& total, bool wide) {
  if (!wide) return store_unit(static_cast<E*>(to), count, u, rounded(total));
  constexpr std::size_t kElems = EightBytes<E>::kElems;
  using Wide = typename Total<E>::Type;
#pragma unroll
  for (std::size_t k = 0; k < kElems; ++k)
    if (u * kElems + k < count) store_plain(static_cast<Wide*>(to) + u * kElems + k, total.elem[k]);
}
template <typename Op, typename E>
__global__ void __launch_bounds__(kCopyThreads)
    combine_kernel(const MESHMEM_GRID_CONSTANT Sources sources, void* to, std::size_t count,
                   bool wide, Op op) {
  after_earlier_kernels();
  before_get();
  const auto load = [&](int i, std::size_t u) {
    return load_unit(static_cast<const E*>(sources.at[i]), count, u);
  };
  const Grid grid;
  const std::size_t units = units_of<E>(count);
  for (auto u = static_cast<std::size_t>(grid.rank()); u < units;
       u += static_cast<std::size_t>(grid.size())) {
    UnitTotal<E> total;
    begin_total(total, load(0, u));
    for (int i = 1; i < sources.n; ++i) combine_into(op, total, load(i, u));
    store_total(to, count, u, total, wide);
  }
}

// The type of the size, where the sign does not matter.
template <typename E>
using Signless = std::conditional_t<std::is_integral<E>::value, Bits<sizeof(E)>, E>;

template <typename E>
constexpr bool has_op(ReduceOp op) {
  return std::is_integral<E>::value ? op <= ReduceOp::bit_xor : op <= ReduceOp::avg;
}

// Calls f with the operation, for elements Signless<E>. Sums have kernels of their own, and so have
// averages of floating-point types, which trainings take of gradients. All others share the kernel
// of a RuntimeOp.
template <typename E, typename F>
hipError_t with_op(ReduceOp op, const F& f) {
  if (!has_op<E>(op)) return hipErrorNotSupported;
  if (op == ReduceOp::sum) return f(StaticOp<ReduceOp::sum>());
  if constexpr (!std::is_integral<E>::value) {
    if (op == ReduceOp::avg) return f(StaticOp<ReduceOp::avg>());
  }
  return f(RuntimeOp<Signless<E>>{op, std::is_signed<E>::value});
}

// The algorithm that by_algorithm() runs for `algorithm`: itself if reduce_packets_kernel or
// reduce_large_kernel has it, else its fallback. For one PE, and for a reduce-scatter that the
// algorithm lacks, one_shot.
inline ReduceAlgorithm algorithm_in_kernel(ReduceAlgorithm algorithm, int n_pes, bool scatter) {
  const ReduceAlgorithmRow& row = row_of(algorithm);
  if (n_pes == 1 || (scatter && !row.scatters)) return ReduceAlgorithm::one_shot;
  const bool has_kernel = row.kernel == ReduceKernel::packets || row.kernel == ReduceKernel::large;
  return has_kernel ? algorithm : row.fallback;
}

// The launch of one reduction, of elements E by an operation.
template <typename Op, typename E>
class TypedReduceLaunch {
 public:
  TypedReduceLaunch(const ReduceLaunch& job, Op op)
      : job_(job),
        op_(op),
        n_blocks_(Slices::most<E>(job.count, job.plan.blocks)),
        blocks_(static_cast<unsigned>(n_blocks_)),
        wanted_threads_(static_cast<unsigned>(job.plan.threads)),
        threads_(std::min(wanted_threads_, kThreads)),
        slices_(Slices::of<E>(job.count, n_blocks_)),
        dest_(static_cast<E*>(job.dest)),
        source_(static_cast<const E*>(job.source)),
        space_(job.team.space),
        algorithm_(algorithm_in_kernel(job.plan.algorithm, job.team.team.n, job.spacing != 0)) {}

  hipError_t run() const {
    if (job_.plan.algorithm == ReduceAlgorithm::one_shot &&
        fits_single_unit<E>(job_.team, slices_, static_cast<int>(threads_)))
      return by_single_unit();
#if defined(MESHMEM_TARGET_IS_CUDA)
    if constexpr (kTypeHasWideLines<E>) {
      if (const std::optional<hipError_t> error = try_wide_lines()) return *error;
    }
#endif
    return by_algorithm();
  }

 private:
  hipError_t by_single_unit() const {
    const SingleHop hop(job_.team, slices_, RowsOfChannel::packets(space_));
    if (job_.spacing != 0)
      return launch(scatter_single_unit_kernel<Op, E>, blocks_, threads_, job_.stream, job_.team,
                    hop, dest_, source_, job_.spacing, op_);
    return launch(reduce_single_unit_kernel<Op, E>, blocks_, threads_, job_.stream, job_.team, hop,
                  dest_, source_, op_);
  }

#if defined(MESHMEM_TARGET_IS_CUDA)
  // nullopt if the elements do not fit.
  std::optional<hipError_t> try_wide_lines() const {
    const ReduceAlgorithm wanted = job_.plan.algorithm;
    const bool in_one_hop = wanted == ReduceAlgorithm::one_shot_wide;
    const bool in_two_hops = wanted == ReduceAlgorithm::two_shot_wide && job_.spacing == 0;
    if (job_.team.team.n == 1 || (!in_one_hop && !in_two_hops)) return std::nullopt;
    if (!job_.team.has_all_slabs()) return std::nullopt;  // SingleHop holds kNearMembers PEs
    const SingleHop hop(job_.team, slices_, RowsOfChannel::wide_lines(space_));
    // For the kernels that are compiled for more than kThreads.
    const unsigned wide_threads = std::min(wanted_threads_, unsigned{kMostThreadsOfTwoShotWide});
    if (in_two_hops) {
      if (!fits_wide_lines_in_two_hops<E>(job_.team, slices_)) return std::nullopt;
      return launch(reduce_single_wide_line_two_hops_kernel<Op, E>, blocks_, wide_threads,
                    job_.stream, job_.team, hop, results_in_row(space_), dest_, source_, op_);
    }
    if (!fits_wide_lines<E>(job_.team, slices_)) return std::nullopt;
    if (job_.spacing != 0)
      return launch(reduce_wide_lines_kernel<true, Op, E>, blocks_, wide_threads, job_.stream,
                    job_.team, hop, dest_, source_, job_.spacing, op_);
    if (fits_wide_lines<E>(job_.team, slices_, threads_))
      return launch(reduce_single_wide_line_kernel<Op, E>, blocks_, threads_, job_.stream,
                    job_.team, hop, dest_, source_, op_);
    return launch(reduce_wide_lines_kernel<false, Op, E>, blocks_, wide_threads, job_.stream,
                  job_.team, hop, dest_, source_, std::size_t{0}, op_);
  }
#endif

  hipError_t by_algorithm() const {
    const auto launch_this = [&](auto kernel) {
      return launch(kernel, blocks_, threads_, job_.stream, algorithm_, job_.team, dest_, source_,
                    slices_, job_.spacing, op_);
    };
    if (row_of(algorithm_).kernel == ReduceKernel::large)
      return launch_this(reduce_large_kernel<Op, E>);
    return with_packets_kernel<Op, E>(algorithm_, launch_this);
  }

  const ReduceLaunch& job_;
  const Op op_;
  const int n_blocks_;
  const dim3 blocks_;
  const unsigned wanted_threads_, threads_;
  const Slices slices_;
  E* const dest_;
  const E* const source_;
  const ChannelSpace& space_;
  const ReduceAlgorithm algorithm_;
};
}  // namespace

template <typename E>
hipError_t ReductionKernels<E>::launch_reduce(const ReduceLaunch& job) {
  return with_op<E>(
      job.op, [&](auto op) { return TypedReduceLaunch<decltype(op), Signless<E>>(job, op).run(); });
}

template <typename E>
hipError_t ReductionKernels<E>::launch_scan(const ScanLaunch& job) {
  using U = Signless<E>;
  return launch(scan_kernel<U>, dim3(1), any_threads(kThreads), job.stream, job.team,
                static_cast<U*>(job.dest), static_cast<const U*>(job.source), job.count,
                job.inclusive);
}

template <typename E>
hipError_t ReductionKernels<E>::launch_combine(const CombineLaunch& job) {
  using U = Signless<E>;
  const ReduceOp op = job.op == ReduceOp::avg ? ReduceOp::sum : job.op;
  return with_op<E>(op, [&](auto given) {
    const dim3 blocks(copy_blocks_for(job.count * sizeof(U)));
    return launch(combine_kernel<decltype(given), U>, blocks, any_threads(kCopyThreads), job.stream,
                  job.sources, job.to, job.count, job.wide, given);
  });
}

template <typename E>
hipError_t ReductionKernels<E>::load_all() {
  using U = Signless<E>;
  hipError_t error = load(scan_kernel<U>);
  // prod loads the kernels of RuntimeOp, which all other operations share.
  for (const ReduceOp each : {ReduceOp::sum, ReduceOp::avg, ReduceOp::prod}) {
    if (error != hipSuccess) break;
    error = with_op<E>(each, [](auto op) {
      using Op = decltype(op);
      hipError_t loaded = load_packets_kernels<Op, U>();
      if (loaded == hipSuccess)
        loaded = load(reduce_large_kernel<Op, U>, reduce_single_unit_kernel<Op, U>,
                      scatter_single_unit_kernel<Op, U>, combine_kernel<Op, U>);
#if defined(MESHMEM_TARGET_IS_CUDA)
      if constexpr (kTypeHasWideLines<U>) {
        if (loaded == hipSuccess)
          loaded = load(
              reduce_single_wide_line_kernel<Op, U>, reduce_single_wide_line_two_hops_kernel<Op, U>,
              reduce_wide_lines_kernel<false, Op, U>, reduce_wide_lines_kernel<true, Op, U>);
      }
#endif
      return loaded;
    });
  }
  return error;
}

#if defined(MESHMEM_TARGET_IS_CPU)
template <typename E>
hipError_t ReductionKernels<E>::reduce_by_one_thread(const ReduceByOneThread& job) {
  using U = Signless<E>;
  auto* const dest = static_cast<U*>(job.dest);
  const auto* const source = static_cast<const U*>(job.source);
  if (job.form == ReduceForm::inclusive_scan || job.form == ReduceForm::exclusive_scan) {
    scan(Thread(), job.sync, dest, source, job.count, job.form == ReduceForm::inclusive_scan);
    return hipSuccess;
  }
  return with_op<E>(job.op, [&](auto op) {
    if (job.form == ReduceForm::scatter)
      reduce_scatter_as(op, Thread(), job.sync, dest, source, job.count);
    else
      reduce_as(op, Thread(), job.sync, dest, source, job.count);
    return hipSuccess;
  });
}
#endif

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_KERNELS_REDUCTIONS_OF_TYPE_HPP_
