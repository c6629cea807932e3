// SPDX-License-Identifier: Apache-2.0
//
// An all-reduce of any type and operation, by the host or on a stream, and whether it is right.
// Invariant: for the comparison dest is poisoned first, and each time the data is new.
#ifndef MESHMEM_BENCH_REDUCTION_HPP_
#define MESHMEM_BENCH_REDUCTION_HPP_

#include "bench/measure.hpp"
#include "bench/options.hpp"
#include "bench/routines.hpp"

namespace meshmem::bench {

struct Reduction {
  const Routine* routine;
  shmem_team_t team;  // SHMEM_TEAM_INVALID: this PE only keeps the others company
  int n;              // PEs of the team
  int me;             // this one's number there
  bool on_stream;
  bool on_device;  // the buffers
  std::byte* dest;
  std::byte* source;  // may be dest
  std::size_t count;
  std::byte* dest_buffer;
  std::byte* source_buffer;

  std::size_t bytes() const { return count * routine->elem_bytes; }
};

// For the meter; it refers to the reduction.
Work work_of(const Reduction& reduction);

// With buffers for the largest size, of the team that is asked for. Collective, as its end.
Reduction make_reduction(const Options& options);
void free_buffers(const Reduction& reduction);

std::size_t count_for(const Options& options, const Routine& routine, std::size_t bytes);

// Elements that were wrong on any PE, of three times this reduction (on a stream a graph that is
// replayed); those that were written behind dest count as well.
long count_wrong(Meter& meter, const Reduction& reduction);

}  // namespace meshmem::bench

#endif  // MESHMEM_BENCH_REDUCTION_HPP_
