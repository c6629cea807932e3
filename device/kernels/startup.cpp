// SPDX-License-Identifier: Apache-2.0
//
// For start-up: loads all kernels, and has two that try whether PEs reach each other's device
// memory.
// Invariant: these two kernels run before the module has its state, so they do not use it.
#include "device/kernels/launch_kernel.hpp"

namespace meshmem {
namespace device {
namespace {

__global__ void write_word_kernel(std::uint64_t* word, std::uint64_t value) {
  after_earlier_kernels();
  store_relaxed(word, value);
  complete_all(Thread());
}
__global__ void read_words_kernel(std::uint64_t* const* words, std::uint64_t* found, int n) {
  after_earlier_kernels();
  acquire_fence();
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x))
    found[i] = words[i] ? load_relaxed(words[i]) : 0;
}

}  // namespace

hipError_t launch_write_word(std::uint64_t* word, std::uint64_t value, hipStream_t stream) {
  return launch(write_word_kernel, dim3(1), 1, stream, word, value);
}
hipError_t launch_read_words(std::uint64_t* const* words, std::uint64_t* found, int n,
                             hipStream_t stream) {
  return launch(read_words_kernel, dim3(1), any_threads(kThreadsForPes), stream, words, found, n);
}

hipError_t load_kernels() {
  if (const hipError_t error = load(write_word_kernel, read_words_kernel)) return error;
  for (const auto load_family : {load_one_sided_kernels, load_far_kernels, load_move_kernels,
                                 load_broadcast_kernels, load_reduction_kernels, load_moe_kernels})
    if (const hipError_t error = load_family()) return error;
  return hipSuccess;
}

}  // namespace device
}  // namespace meshmem
