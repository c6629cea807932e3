// SPDX-License-Identifier: Apache-2.0
//
// Steps that the PEs of a benchmark take together. Invariant: all PEs call the collective ones, in
// the same order, also PEs outside the team that is measured.
#ifndef MESHMEM_BENCH_JOINT_STEPS_HPP_
#define MESHMEM_BENCH_JOINT_STEPS_HPP_

#include <fmt/format.h>
#include <hip/hip_runtime_api.h>
#include <shmemx.h>

#include <cstddef>
#include <string>

namespace meshmem::bench {

// Returns PE 0's value. Collective.
double agree(double value);
// Returns the sum of all PEs' values. Collective.
long add_up(long value);

// Prints a line and ends the job. Other PEs wait a while first: if PE 0 fails too, it prints.
[[noreturn]] void fail(const std::string& message);

inline void check(hipError_t error, const char* what) {
  if (error != hipSuccess) fail(fmt::format("cannot {}: {}", what, hipGetErrorString(error)));
}

// Bytes behind a buffer that an operation must not change, and the value that fills a dest before.
inline constexpr std::size_t kGuardBytes = 256;
inline constexpr std::byte kPoison{0xA5};

// Returns symmetric memory for `bytes` bytes and the guard behind; shmem_free gives it back. Ends
// the job if there is none. Collective.
void* take_buffer(std::size_t bytes, bool on_device);
// How much of a heap take_buffer needs.
std::size_t buffer_bytes(std::size_t bytes);
// Copies between host memory and other memory of this PE, which may be on its device.
void copy(void* to, const void* from, std::size_t bytes, bool on_device);

// The machines of the job, as in "4 PEs on 2 nodes: 0-1 left; 2-3 right". Collective.
std::string describe_nodes();
// The first PE that is near PE 0, or far from it; -1 if there is none. Collective.
int find_peer(bool is_far);

// The name of this PE's device and of its architecture, as in sm_90.
std::string device_name();
std::string architecture();
// Threads of a wave.
unsigned wave_threads();

}  // namespace meshmem::bench

#endif  // MESHMEM_BENCH_JOINT_STEPS_HPP_
