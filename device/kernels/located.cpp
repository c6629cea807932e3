// SPDX-License-Identifier: Apache-2.0
//
// maxloc and minloc on streams: a kernel for values of 4 bytes and one for those of 8.
// Invariant: a block reduces its slice, on its channel, and waits for no other block.
#include "device/collectives/located.hpp"

#include <algorithm>

#include "device/kernels/launch_kernel.hpp"
#include "device/kernels/reductions.hpp"

namespace meshmem {
namespace device {
namespace {

template <typename U>
__global__ void __launch_bounds__(kThreads)
    reduce_located_kernel(LocatedOrder order, const MESHMEM_GRID_CONSTANT TeamHandle handle,
                          Located<U>* dest, const Located<U>* source,
                          const MESHMEM_GRID_CONSTANT Slices slices) {
  after_earlier_kernels();
  const auto channel = static_cast<int>(blockIdx.x);
  const Slice slice = slices.slice<Located<U>>(channel);
  reduce_located(order, Block(), TeamSync(handle, channel), dest + slice.first,
                 source + slice.first, slice.count);
}

template <typename U>
hipError_t launch_located(const ReduceLaunch& job, ElemType type) {
  const int n_blocks = Slices::most<Located<U>>(job.count, job.plan.blocks);
  const unsigned threads = std::min(static_cast<unsigned>(job.plan.threads), kThreads);
  return launch(reduce_located_kernel<U>, dim3(static_cast<unsigned>(n_blocks)), threads,
                job.stream, LocatedOrder{type, job.op}, job.team,
                static_cast<Located<U>*>(job.dest), static_cast<const Located<U>*>(job.source),
                Slices::of<Located<U>>(job.count, n_blocks));
}

}  // namespace

hipError_t launch_located(const ReduceLaunch& job, ElemType type) {
  const bool is_wide =
      type == ElemType::i64_at || type == ElemType::u64_at || type == ElemType::f64_at;
  return is_wide ? launch_located<std::uint64_t>(job, type)
                 : launch_located<std::uint32_t>(job, type);
}

hipError_t load_located_kernels() {
  return load(reduce_located_kernel<std::uint32_t>, reduce_located_kernel<std::uint64_t>);
}

}  // namespace device
}  // namespace meshmem
