// SPDX-License-Identifier: Apache-2.0
//
// The search for the fastest plan of each size: {algorithm, blocks, threads}. What it writes is
// what MESHMEM_TUNING takes. Invariant: all PEs try the same plans in the same order; PE 0's
// figures decide.
#ifndef MESHMEM_BENCH_TUNE_HPP_
#define MESHMEM_BENCH_TUNE_HPP_

#include "bench/measure.hpp"
#include "bench/options.hpp"

namespace meshmem::bench {

// `work`'s count changes with the size. All PEs take part.
void tune(Meter& meter, Work work, const Options& options);

}  // namespace meshmem::bench

#endif  // MESHMEM_BENCH_TUNE_HPP_
