// SPDX-License-Identifier: Apache-2.0
//
// Whether reductions are right. Invariant: dest is poisoned first, and each time the data is new.
#ifndef MESHMEM_BENCH_CHECK_HPP_
#define MESHMEM_BENCH_CHECK_HPP_

#include "bench/measure.hpp"

namespace meshmem::bench {

// Bytes behind a buffer that a reduction must leave alone.
inline constexpr std::size_t kGuardBytes = 256;

// Elements that were wrong on any PE, of three times this work (on device memory a graph that is
// replayed); those that were written behind dest count as well.
long count_wrong(Meter& meter, const Work& work);

}  // namespace meshmem::bench

#endif  // MESHMEM_BENCH_CHECK_HPP_
