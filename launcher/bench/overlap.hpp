// SPDX-License-Identifier: Apache-2.0
//
// How much of an operation's time passes beside a computation of the host, between the call that
// begins it and the one that waits for it. Invariant: all PEs get PE 0's figure.
#ifndef MESHMEM_BENCH_OVERLAP_HPP_
#define MESHMEM_BENCH_OVERLAP_HPP_

#include <functional>

#include "bench/measure.hpp"

namespace meshmem::bench {

// An operation in two halves. Empty: this PE only keeps the others company.
struct Halves {
  std::function<void(hipStream_t stream)> begin;
  std::function<void(hipStream_t stream)> complete;
};

// Percent of the operation's time: 100 if computing as long beside it takes no longer than either
// alone, 0 if as long as one after the other.
double overlap_of(Meter& meter, const Halves& halves, const Effort& effort);

}  // namespace meshmem::bench

#endif  // MESHMEM_BENCH_OVERLAP_HPP_
