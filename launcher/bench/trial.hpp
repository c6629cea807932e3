// SPDX-License-Identifier: Apache-2.0
//
// An operation with its buffers, called in one way, ready to be checked and timed.
// Invariant: rounds are counted from 0 after each check, on all PEs that take part alike.
#ifndef MESHMEM_BENCH_TRIAL_HPP_
#define MESHMEM_BENCH_TRIAL_HPP_

#include "bench/answers.hpp"
#include "bench/kernels.hpp"
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

  // The sizes of the following rounds; what becomes of it (floats are whole).
  std::size_t resize(std::size_t bytes);
  // Bytes, and values fetched, that were wrong on any PE after one round.
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
  const int window_;
  At at_{};
  std::uint64_t next_ = 0;  // number of the next call
  // The memory of the host or of the device that the caller reads and writes for itself.
  void* own_ = nullptr;
  std::size_t own_bytes_ = 0;
};

}  // namespace meshmem::bench

#endif  // MESHMEM_BENCH_TRIAL_HPP_
