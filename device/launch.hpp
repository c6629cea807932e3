// SPDX-License-Identifier: Apache-2.0
//
// The library's own kernels, as functions that put them on a stream: what host calls on device
// memory and the on_stream routines are made of.
// Invariant: asynchronous; nothing here allocates or synchronizes, so all can be captured into a
// graph. Addresses called `there` have been translated by the caller; `dest` and `source` of
// collectives are addresses of this PE, and symmetric unless a comment says otherwise. Defined in
// kernels/, called by src/.
#ifndef MESHMEM_DEVICE_LAUNCH_HPP_
#define MESHMEM_DEVICE_LAUNCH_HPP_

#include <hip/hip_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "device/collectives/algorithms.hpp"
#include "device/operations.hpp"
#include "device/state.hpp"
#include "shmem/moe.h"

namespace meshmem {
namespace device {

// One element of at most 16 bytes, as a value.
struct Scalar {
  std::uint64_t word[2];
};

// A copy of this PE or between PEs by stores of a kernel. It is for small copies, for which a copy
// engine takes longer to start, and for ends that only a kernel reaches.
hipError_t launch_copy(void* to, const void* from, std::size_t bytes, hipStream_t stream);

// Blocks of `block_bytes` (elements of elem_bytes each); strides in bytes.
struct StridedCopy {
  void* to;
  std::ptrdiff_t to_stride;
  const void* from;
  std::ptrdiff_t from_stride;
  std::size_t block_bytes;
  std::size_t n_blocks;
};
hipError_t launch_strided_copy(const StridedCopy& copy, hipStream_t stream);

// One element of 1, 2, 4, 8 or 16 bytes; up to 8 bytes by one store or load.
hipError_t launch_store(void* there, Scalar value, std::size_t bytes, hipStream_t stream);
hipError_t launch_load(void* to, const void* there, std::size_t bytes, hipStream_t stream);

// *there = op(*there, operand, condition), the value before to *fetched unless that is null.
// fetched is memory that the device reaches (pinned host memory is fine).
hipError_t launch_atomic(AtomicOp op, ElemType type, void* there, Scalar operand, Scalar condition,
                         void* fetched, hipStream_t stream);

// Operations that other nodes ask for: atomics of 4 or 8 bytes, and stores (op set) of 1, 2, 4 or
// 8. The kernel executes them one after the other, and each sees what those before it have stored.
// The device must reach the memory `all`.
struct Operation {
  void* there;
  std::uint64_t operand;
  std::uint64_t condition;
  std::uint64_t before;  // the old value, if op fetches
  AtomicOp op;
  std::uint32_t bytes;
};
hipError_t launch_operations(Operation* all, int n, hipStream_t stream);

// A signal after all that this stream has done before; with data, after the data.
hipError_t launch_signal(std::uint64_t* there, std::uint64_t value, int sig_op, hipStream_t stream);
hipError_t launch_put_signal(void* there, const void* source, std::size_t bytes,
                             std::uint64_t* signal_there, std::uint64_t value, int sig_op,
                             hipStream_t stream);

// The stream goes on when `ivar cmp value` holds; ivar is this PE's.
hipError_t launch_wait_until(const void* ivar, ElemType type, int cmp, Scalar value,
                             hipStream_t stream);

hipError_t launch_quiet(hipStream_t stream);

// When the stream goes on after a command to the proxy.
enum class ProxyEnd {
  issued,          // at once, when the command is in the ring
  source_is_free,  // when the program may change the source
  done,            // when the command is done at its target
  answered,        // when a collective has ended; a quiet comes before it
};
// Hands the proxy a command. This PE must have a proxy.
hipError_t launch_proxy_command(const ProxyCommand& command, ProxyEnd end, hipStream_t stream);

// Collectives of a team. A sync is also a quiet, and so a barrier.
hipError_t launch_sync(const TeamHandle& team, hipStream_t stream);
// Returns the largest block of a broadcast, fcollect or alltoall that goes by rows: through the
// team's rows alone. PEs then write nowhere else in each other's memory, so dest and source may be
// any memory of this device.
std::size_t most_by_rows(CollectiveKind kind, const TeamHandle& team);
// spacing: bytes from one PE's block to the next one's.
struct Move {
  void* dest;
  const void* source;
  std::size_t bytes;  // of a block
  std::size_t spacing;
  bool by_rows;
};
hipError_t launch_broadcast(const TeamHandle& team, const Move& move, int root, hipStream_t stream);
hipError_t launch_fcollect(const TeamHandle& team, const Move& move, hipStream_t stream);
hipError_t launch_alltoall(const TeamHandle& team, const Move& move, hipStream_t stream);
hipError_t launch_collect(const TeamHandle& team, void* dest, const void* source, std::size_t bytes,
                          hipStream_t stream);
hipError_t launch_alltoalls(const TeamHandle& team, void* dest, const void* source,
                            std::ptrdiff_t dest_stride, std::ptrdiff_t source_stride,
                            std::size_t elem_bytes, std::size_t nelems,
                            hipStream_t stream);  // strides in elements

hipError_t launch_alltoallv(const TeamHandle& team, const Alltoallv& call, hipStream_t stream);

// How a reduction runs: the same on all PEs. No more blocks than the team has channels (state.hpp).
struct Plan {
  ReduceAlgorithm algorithm;
  int blocks;
  int threads;
};
// spacing: 0, or for a reduce-scatter the elements from one PE's block of the source to the next
// one's. count > 0. By an algorithm of packets or wide lines dest and source may be any memory of
// this device.
struct ReduceLaunch {
  const Plan& plan;
  const TeamHandle& team;
  ReduceOp op;
  void* dest;
  const void* source;
  std::size_t count;
  std::size_t spacing;
  hipStream_t stream;
};
struct ScanLaunch {
  const TeamHandle& team;
  void* dest;
  const void* source;
  std::size_t count;
  bool inclusive;
  hipStream_t stream;
};
// hipErrorNotSupported for a type that kernels do not have (long double, complex).
hipError_t launch_reduce(const ReduceLaunch& job, ElemType type);
hipError_t launch_scan(const ScanLaunch& job, ElemType type);
// Returns how many bytes one kernel reduces by the plan's wide lines, or for each PE if they go in
// one hop. 0: the plan or the team has none.
std::size_t most_reduced_by_wide_lines(const TeamHandle& team, const Plan& plan);

// Data of several PEs, all of it within reach of this device.
struct Sources {
  static constexpr int kMost = 16;
  const void* at[kMost];
  int n;
};
// One device combines the sources' elements i, in the order of the sources, into to[i]. An average
// is a sum here. wide: the elements of `to` are float, in which half and bfloat16 are combined.
// count > 0.
struct CombineLaunch {
  const Sources& sources;
  ReduceOp op;
  void* to;
  std::size_t count;
  bool wide;
  hipStream_t stream;
};
hipError_t launch_combine(const CombineLaunch& job, ElemType type);

// Expert parallelism: the steps of meshmem/moe.hpp. No kernel waits; the caller puts a fcollect of
// the counts between count and place, and a sync behind dispatch and before combine. n_tokens: of
// the last plan, as far as the caller knows, which decides only the number of blocks.
hipError_t launch_moe_count(const shmemx_moe_view_t& view, const int* indices, int tokens,
                            hipStream_t stream);
hipError_t launch_moe_place(const shmemx_moe_view_t& view, hipStream_t stream);
hipError_t launch_moe_dispatch(const shmemx_moe_view_t& view, const void* tokens,
                               const float* scales, int n_tokens, hipStream_t stream);
hipError_t launch_moe_combine(const shmemx_moe_view_t& view, const void* results,
                              const float* weights, void* out, int n_tokens, hipStream_t stream);

// For start-up: a PE writes a word into its own slab; then all read the words of all slabs through
// their mappings. found[i] = *words[i], or 0 where words[i] is null.
hipError_t launch_write_word(std::uint64_t* word, std::uint64_t value, hipStream_t stream);
hipError_t launch_read_words(std::uint64_t* const* words, std::uint64_t* found, int n,
                             hipStream_t stream);

// Loads all kernels above on the current device. A kernel that is loaded at its first launch may
// wait for running kernels, which may wait for it for ever.
hipError_t load_kernels();

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_LAUNCH_HPP_
