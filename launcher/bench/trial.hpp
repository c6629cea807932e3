// SPDX-License-Identifier: Apache-2.0
//
// An operation with its buffers, called in one way, ready to be checked and timed.
// Invariant: rounds are counted from 0 after each check, on all PEs that take part alike.
#ifndef MESHMEM_BENCH_TRIAL_HPP_
#define MESHMEM_BENCH_TRIAL_HPP_

#include "bench/answers.hpp"
#include "bench/measure.hpp"
#include "bench/operations.hpp"
#include "bench/options.hpp"

namespace meshmem::bench {

class Trial {
 public:
  // For sizes up to that of the options. PE 0 works with `peer`. Collective, as are the destructor
  // and count_wrong.
  Trial(const Operation& operation, const Options& options, int peer);
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // The size of the following rounds; returns what becomes of it (elements are whole).
  std::size_t resize(std::size_t bytes);
  int n_pes() const { return n_; }  // that take part in a collective
  // Elements or bytes, and values fetched, that were wrong on any PE after one round; with --check
  // after each of several. A graph is made once and replayed.
  long count_wrong(Meter& meter);
  Work work();

 private:
  bool takes_part() const;
  void run(int rounds, hipStream_t stream);
  void prepare();
  long compare();
  void lay_out_blocks();
  Case that_case() const;
  std::size_t* block_table(int which) const;

  const Operation& operation_;
  const Options& options_;
  const Caller caller_;
  const bool on_device_;
  const int peer_;
  const int n_;
  const int window_;
  unsigned turn_ = 0;  // number of the check
  At at_{};
  void* dest_buffer_ = nullptr;  // of at_.dest and at_.source, which may begin behind it
  void* source_buffer_ = nullptr;
  std::uint64_t next_ = 0;  // number of the next call
  // The memory of the host or of the device that the caller reads and writes for itself.
  void* own_ = nullptr;
  std::size_t own_bytes_ = 0;
};

}  // namespace meshmem::bench

#endif  // MESHMEM_BENCH_TRIAL_HPP_
