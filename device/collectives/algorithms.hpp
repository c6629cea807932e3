// SPDX-License-Identifier: Apache-2.0
//
// The reduction algorithms by number, and the columns of the table algorithms.def for each.
// Invariant: this is the only type for an algorithm, in kernels and on the host. Read by code that
// chooses an algorithm, parses its name or launches it.
#ifndef MESHMEM_DEVICE_COLLECTIVES_ALGORITHMS_HPP_
#define MESHMEM_DEVICE_COLLECTIVES_ALGORITHMS_HPP_

namespace meshmem {
namespace device {

enum class ReduceAlgorithm {
#define MESHMEM_ALGORITHM(name, ...) name,
#include "device/collectives/algorithms.def"
#undef MESHMEM_ALGORITHM
};

// The library's kernels for reductions. Each has some of the algorithms: if one kernel had all, the
// small ones would take as many registers, and as much stack, as the largest. Each algorithm by
// wide lines has a kernel of its own (kernels/single_wide_line.hpp).
enum class ReduceKernel { packets, wide_lines, large, none };

// Threads of a block. 576 threads have 72 wide lines at a time. If 4 PEs reduce 4 MiB by 128
// blocks, each block has 69 lines of a share. 512 threads would need a second turn for five of
// them, which takes as long as the hops.
constexpr int kMostThreads = 512;
constexpr int kMostThreadsOfTwoShotWide = 576;

struct ReduceAlgorithmRow {
  const char* name;
  bool is_on_host;
  ReduceKernel kernel;
  bool scatters;
  ReduceAlgorithm fallback;
  bool adds_in_pe_order;
  int most_threads;
  const char* text;
};
constexpr ReduceAlgorithmRow kReduceAlgorithms[] = {
#define MESHMEM_ALGORITHM(name, host, kernel, scatters, fallback, in_pe_order, most_threads, text) \
  {#name,        host, ReduceKernel::kernel, scatters, ReduceAlgorithm::fallback, in_pe_order,     \
   most_threads, text},
#include "device/collectives/algorithms.def"
#undef MESHMEM_ALGORITHM
};
constexpr int kReduceAlgorithmCount = sizeof kReduceAlgorithms / sizeof kReduceAlgorithms[0];

constexpr const ReduceAlgorithmRow& row_of(ReduceAlgorithm algorithm) {
  return kReduceAlgorithms[static_cast<int>(algorithm)];
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_COLLECTIVES_ALGORITHMS_HPP_
