// SPDX-License-Identifier: Apache-2.0
//
// meshmem-bench --tune: finds the fastest plan {algorithm, blocks, threads} for each size, and
// writes them as a table that MESHMEM_TUNING takes.
// Invariant: all PEs try the same plans in the same order; PE 0's figures decide. Called by main().
#ifndef MESHMEM_BENCH_TUNE_HPP_
#define MESHMEM_BENCH_TUNE_HPP_

#include "bench/measure.hpp"
#include "bench/options.hpp"
#include "bench/trial.hpp"

namespace meshmem::bench {

// Writes the best plans for the sizes of `options`, and resizes the all-reduce to each of them. All
// PEs call it.
void tune(Meter& meter, Trial& all_reduce, const Options& options);

}  // namespace meshmem::bench

#endif  // MESHMEM_BENCH_TUNE_HPP_
