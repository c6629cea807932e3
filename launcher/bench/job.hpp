// SPDX-License-Identifier: Apache-2.0
//
// What the PEs of a benchmark do together. Invariant: every PE calls these, in one order, those too
// that are not in the team that is measured.
#ifndef MESHMEM_BENCH_JOB_HPP_
#define MESHMEM_BENCH_JOB_HPP_

#include <fmt/format.h>
#include <hip/hip_runtime_api.h>
#include <shmemx.h>

#include <string>

namespace meshmem::bench {

// What PE 0 has.
double agree(double value);
// Of all PEs.
long add_up(long value);

// Ends the job with one line, of PE 0 if all come here.
[[noreturn]] void fail(const std::string& message);

inline void check(hipError_t error, const char* what) {
  if (error != hipSuccess) fail(fmt::format("cannot {}: {}", what, hipGetErrorString(error)));
}

// The name of this PE's device and of its architecture, as in sm_90.
std::string device_name();
std::string architecture();

}  // namespace meshmem::bench

#endif  // MESHMEM_BENCH_JOB_HPP_
