// SPDX-License-Identifier: Apache-2.0
//
// Kernels of expert parallelism: each is a step of meshmem/moe.hpp by all blocks of a grid.
// Invariant: no kernel here waits for another PE. Collectives on the stream come between them.
#include "meshmem/moe.hpp"

#include "device/kernels/launch_kernel.hpp"

namespace meshmem {
namespace device {
namespace {

constexpr unsigned kPlanThreads = 256, kPlaceThreads = 512, kRowThreads = 512, kSumThreads = 256;
#if defined(MESHMEM_TARGET_IS_CPU)
constexpr std::size_t kMostRowBlocks = 4;
#else
constexpr std::size_t kMostRowBlocks = 128;
#endif
constexpr std::size_t kBytesOfRowBlock = 16 * 1024;

__global__ void __launch_bounds__(kPlanThreads)
    moe_count_kernel(const MESHMEM_GRID_CONSTANT moe::View view, const int* indices, int tokens) {
  after_earlier_kernels();
  moe::count(view, indices, tokens, moe::of_grid());
}
__global__ void __launch_bounds__(kPlaceThreads)
    moe_place_kernel(const MESHMEM_GRID_CONSTANT moe::View view) {
  after_earlier_kernels();
  moe::place(view);
}
__global__ void __launch_bounds__(kRowThreads)
    moe_dispatch_kernel(const MESHMEM_GRID_CONSTANT moe::View view, const void* tokens,
                        const float* scales) {
  after_earlier_kernels();
  moe::dispatch(view, tokens, scales, moe::of_grid());
  release_at_end();
}
template <typename E>
__global__ void __launch_bounds__(kSumThreads)
    moe_combine_kernel(const MESHMEM_GRID_CONSTANT moe::View view, const void* results,
                       const float* weights, void* out) {
  after_earlier_kernels();
  moe::combine<E>(view, results, weights, out, moe::of_grid());
}

// The blocks that share `items`, at most those that the shape allows.
dim3 blocks_for(const moe::View& view, std::size_t items, std::size_t items_of_block) {
  const int asked = view.shape.max_blocks;
  const std::size_t most = asked > 0 ? static_cast<std::size_t>(asked) : kMostRowBlocks;
  const std::size_t wanted = items / items_of_block + 1;
  return dim3(static_cast<unsigned>(wanted < most ? wanted : most));
}
dim3 blocks_for_rows(const moe::View& view, int tokens, std::size_t row_bytes) {
  return blocks_for(
      view,
      static_cast<std::size_t>(tokens) * static_cast<std::size_t>(view.shape.top_k) * row_bytes,
      kBytesOfRowBlock);
}

// Calls f(Given<E>()) for the type E of results.
template <typename F>
hipError_t with_result_type(int type, const F& f) {
  switch (type) {
    case SHMEMX_MOE_FLOAT:
      return f(Given<float>());
    case SHMEMX_MOE_HALF:
      return f(Given<meshmem_half>());
    default:
      return f(Given<meshmem_bfloat16>());
  }
}

}  // namespace

hipError_t launch_moe_count(const shmemx_moe_view_t& view, const int* indices, int tokens,
                            hipStream_t stream) {
  constexpr std::size_t kExpertsOfBlock = 8;  // a wave for each
  return launch(moe_count_kernel,
                blocks_for(view, static_cast<std::size_t>(view.shape.experts), kExpertsOfBlock),
                any_threads(kPlanThreads), stream, view, indices, tokens);
}
hipError_t launch_moe_place(const shmemx_moe_view_t& view, hipStream_t stream) {
  return launch(moe_place_kernel, dim3(1), any_threads(kPlaceThreads), stream, view);
}
hipError_t launch_moe_dispatch(const shmemx_moe_view_t& view, const void* tokens,
                               const float* scales, int n_tokens, hipStream_t stream) {
  return launch(moe_dispatch_kernel, blocks_for_rows(view, n_tokens, view.row_bytes),
                any_threads(kRowThreads), stream, view, tokens, scales);
}
hipError_t launch_moe_combine(const shmemx_moe_view_t& view, const void* results,
                              const float* weights, void* out, int n_tokens, hipStream_t stream) {
  const dim3 blocks = blocks_for_rows(view, n_tokens, view.result_bytes);
  return with_result_type(view.shape.result_type, [&](auto given) {
    return launch(moe_combine_kernel<typename decltype(given)::Type>, blocks,
                  any_threads(kSumThreads), stream, view, results, weights, out);
  });
}

hipError_t load_moe_kernels() {
  return load(moe_count_kernel, moe_place_kernel, moe_dispatch_kernel, moe_combine_kernel<float>,
              moe_combine_kernel<meshmem_half>, moe_combine_kernel<meshmem_bfloat16>);
}

}  // namespace device
}  // namespace meshmem
