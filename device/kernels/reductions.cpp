// SPDX-License-Identifier: Apache-2.0
//
// Kernels of a team that compute: reductions and scans.
// Invariant: integers whose sign does not matter to an operation share the kernel of the unsigned
// type, so that no kernel is there twice. A block of a reduction reduces its slice, on its channel, and
// waits for no other block.
#include "device/collectives/slices.hpp"
#include "device/kernels/launch_kernel.hpp"
#include "device/routines.hpp"

namespace meshmem {
namespace device {
namespace {

// Two routines in one kernel, so that there are not twice as many.
template <ReduceOp op, typename E>
__global__ void __launch_bounds__(kThreads)
    reduce_kernel(ReduceAlgorithm algorithm, const MESHMEM_GRID_CONSTANT TeamPlace place, E* dest,
                  const E* source, std::size_t count, bool scatter) {
  const auto channel = static_cast<int>(blockIdx.x);
  const Slice slice = slice_of<E>(count, channel, static_cast<int>(gridDim.x));
  reduce_by<op>(algorithm, Block(), TeamSync(place, channel), dest + slice.first,
                source + slice.first, slice.count, scatter ? count : 0);
}
template <typename E>
__global__ void scan_kernel(const MESHMEM_GRID_CONSTANT TeamPlace place, E* dest, const E* source,
                            std::size_t count, bool inclusive) {
  scan(Block(), TeamSync(place), dest, source, count, inclusive);
}

// The type of the size, where the sign does not matter.
template <typename E>
using Signless = std::conditional_t<std::is_integral<E>::value, Bits<sizeof(E)>, E>;

// One operation with the type that its kernels have, as an argument of a choice.
template <ReduceOp op, typename E>
struct Reduction {
  static constexpr ReduceOp kOp = op;
  using Type = E;
};

// The last of the operations that E has; the others come before it.
template <typename E>
constexpr ReduceOp kLastOp = std::is_integral<E>::value ? ReduceOp::bit_xor : ReduceOp::avg;

// f(Reduction<op, E or U>()).
template <typename E, typename F>
hipError_t with_reduction_of(ReduceOp op, const F& f) {
  using U = Signless<E>;
  switch (op) {
    case ReduceOp::sum:
      return f(Reduction<ReduceOp::sum, U>());
    case ReduceOp::prod:
      return f(Reduction<ReduceOp::prod, U>());
    case ReduceOp::min:
      return f(Reduction<ReduceOp::min, E>());
    case ReduceOp::max:
      return f(Reduction<ReduceOp::max, E>());
    case ReduceOp::avg:
      return f(Reduction<ReduceOp::avg, E>());
    default:
      break;
  }
  if constexpr (std::is_integral<E>::value) {
    if (op == ReduceOp::bit_and) return f(Reduction<ReduceOp::bit_and, U>());
    if (op == ReduceOp::bit_or) return f(Reduction<ReduceOp::bit_or, U>());
    if (op == ReduceOp::bit_xor) return f(Reduction<ReduceOp::bit_xor, U>());
  }
  return hipErrorNotSupported;
}
template <typename F>
hipError_t with_reduction(ReduceOp op, ElemType type, const F& f) {
  return with_type(
      type, [&](auto given) { return with_reduction_of<typename decltype(given)::Type>(op, f); });
}
// f for each reduction that there is, up to the first failure.
template <typename F>
hipError_t with_each_reduction(const F& f) {
  return with_each_type([&](auto given) {
    using E = typename decltype(given)::Type;
    hipError_t error = hipSuccess;
    for (int op = 0; error == hipSuccess && op <= static_cast<int>(kLastOp<E>); ++op)
      error = with_reduction_of<E>(static_cast<ReduceOp>(op), f);
    return error;
  });
}

}  // namespace

hipError_t launch_reduce(const Plan& plan, const TeamPlace& team, ReduceOp op, ElemType type,
                         void* dest, const void* source, std::size_t count, bool scatter,
                         hipStream_t stream) {
  return with_reduction(op, type, [&](auto reduction) {
    using R = decltype(reduction);
    using E = typename R::Type;
    return launch(reduce_kernel<R::kOp, E>, dim3(static_cast<unsigned>(plan.blocks)),
                  static_cast<unsigned>(plan.threads), stream, plan.algorithm, team,
                  static_cast<E*>(dest), static_cast<const E*>(source), count, scatter);
  });
}

hipError_t launch_scan(const TeamPlace& team, ElemType type, void* dest, const void* source,
                       std::size_t count, bool inclusive, hipStream_t stream) {
  return with_type(type, [&](auto given) {
    using E = Signless<typename decltype(given)::Type>;
    return launch(scan_kernel<E>, dim3(1), kThreads, stream, team, static_cast<E*>(dest),
                  static_cast<const E*>(source), count, inclusive);
  });
}

hipError_t load_reduction_kernels() {
  const hipError_t error = with_each_reduction([](auto reduction) {
    using R = decltype(reduction);
    return load(reduce_kernel<R::kOp, typename R::Type>);
  });
  if (error != hipSuccess) return error;
  return with_each_type(
      [](auto given) { return load(scan_kernel<Signless<typename decltype(given)::Type>>); });
}

}  // namespace device
}  // namespace meshmem
