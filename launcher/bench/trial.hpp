// SPDX-License-Identifier: Apache-2.0
//
// An operation with its buffers and its caller, ready to be checked and timed.
// Invariant: a checked round counts its calls from 0, and all PEs that take part count them alike.
#ifndef MESHMEM_BENCH_TRIAL_HPP_
#define MESHMEM_BENCH_TRIAL_HPP_

#include "bench/answers.hpp"
#include "bench/measure.hpp"
#include "bench/operations.hpp"
#include "bench/options.hpp"

namespace meshmem::bench {

class Trial {
 public:
  // Takes buffers for sizes up to options.max_bytes. PE 0 works with `peer`. Collective, as are the
  // destructor and count_wrong.
  Trial(const Operation& operation, const Options& options, int peer);
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // Sets the size of the following rounds. Returns the size in whole elements.
  std::size_t resize(std::size_t bytes);
  int n_pes() const { return n_; }  // that take part in a collective
  // Runs one round, or with --check several, and compares the results after each. Returns how many
  // elements, bytes and fetched values were wrong on all PEs together. Every round replays the same
  // graph, if there is one.
  long count_wrong(Meter& meter);
  Work work();

 private:
  bool takes_part() const;
  void run(int rounds, hipStream_t stream);
  void prepare();
  long compare();
  void fill_block_tables();
  Case present_case() const;
  std::size_t* block_table(int which) const;

  const Operation& operation_;
  const Options& options_;
  const Caller caller_;
  const bool on_device_;
  const int peer_;
  const int n_;
  const int window_;
  unsigned turn_ = 0;  // number of the checked round
  At at_{};
  void* dest_buffer_ = nullptr;  // at_.dest and at_.source may begin behind these
  void* source_buffer_ = nullptr;
  std::uint64_t next_ = 0;  // number of the next call
  // Memory of the host or the device that only the caller uses; trial.cpp says for what.
  void* own_ = nullptr;
  std::size_t own_bytes_ = 0;
};

// meshmem-bench --tune: finds the fastest plan {algorithm, blocks, threads} of the all-reduce for
// each size of `options`, and writes them as a table that MESHMEM_TUNING takes. All PEs call it,
// and try the same plans in the same order; PE 0's figures decide.
void tune(Meter& meter, Trial& all_reduce, const Options& options);

}  // namespace meshmem::bench

#endif  // MESHMEM_BENCH_TRIAL_HPP_
