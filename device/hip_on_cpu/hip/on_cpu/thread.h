// SPDX-License-Identifier: Apache-2.0
// A kernel's thread knows its indices, its block, and how to let the other threads run.
// Invariant: current_thread (hip_runtime_api.h) is null outside of kernels, and inside it is the
// thread that runs on this OS thread now.
// Included by hip_runtime.h only; block.cpp sets these.
#pragma once

#include "hip/hip_runtime_api.h"

// The library and a program's kernels have to be compiled alike: MESHMEM_CPU_WAVE in CMake.
#ifndef HIP_ON_CPU_WAVE
#define HIP_ON_CPU_WAVE 32
#endif
inline constexpr int warpSize = HIP_ON_CPU_WAVE;
static_assert(warpSize == 32 || warpSize == 64, "a wave has 32 or 64 lanes");

namespace hip_on_cpu {
class BlockRunner;  // the library's own
}

#pragma GCC visibility push(default)
namespace hip_on_cpu {

struct BlockState {
  dim3 block;
  void* dynamic_shared;
  BlockRunner* runner;
  bool is_cooperative;  // as the program launched it
  // Whether threads have called routines of the block, or of a wave (a bit for each), that have not
  // been compared yet.
  mutable bool has_calls;
  mutable std::uint32_t waves_with_calls;
};

// The routines of a group that a thread has called: how many, which, and the last.
struct GroupCalls {
  unsigned count;
  std::uintptr_t which;  // a hash
  const char* last;

  void add(const char* routine) {
    ++count;
    which = which * 31 + reinterpret_cast<std::uintptr_t>(routine);
    last = routine;
  }
  bool operator==(const GroupCalls& other) const {
    return count == other.count && which == other.which;
  }
};

struct ThreadState {
  dim3 index;
  const BlockState* block;
  unsigned rank;                  // in the block; consecutive ones make a wave
  const void* awaited = nullptr;  // the word that it polls, if it says so
  GroupCalls of_wave = {}, of_block = {};
  unsigned of_grid = 0;         // how many of the block's calls were routines of the grid
  const void* entry = nullptr;  // meshmem's, of the routine that the thread is in
};

// All threads of a group must call its routines alike. That is checked where they meet, and when
// the block ends.
inline void note_call_of_wave(const char* routine) {
  current_thread->of_wave.add(routine);
  current_thread->block->waves_with_calls |= 1u << current_thread->rank / warpSize;
}
inline void note_call_of_block(const char* routine) {
  current_thread->of_block.add(routine);
  current_thread->block->has_calls = true;
}
inline void note_call_of_grid(const char* routine) {
  note_call_of_block(routine);
  ++current_thread->of_grid;
}

// For every loop that waits: runs another thread of the block, or, when all of them wait, another
// OS thread. In host code it gives up the rest of the time slice.
void yield();
// The same, saying which address the wait looks at; end_wait() is called after the last one. Both
// may be called outside of kernels.
void yield_for(const void* awaited);
void end_wait();
inline void has_waited() {
  if (current_thread != nullptr && current_thread->awaited != nullptr) end_wait();
}

void block_barrier();

// A barrier of the block at which its threads vote: how many did, and how many said yes.
struct BlockVotes {
  unsigned voters, ayes;
};
BlockVotes vote_in_block(bool mine);

// A barrier of all blocks of a cooperative launch. In any other launch the kernel ends with a line.
void grid_barrier();

// The __shared__ memory whose size the launch gives. Its address stays the same for an OS thread,
// whichever block the thread runs.
void* dynamic_shared_memory();

long long nanoseconds();

}  // namespace hip_on_cpu
#pragma GCC visibility pop

// Variables and not macros, so that a program's own variables may have these names. The scheduler
// sets threadIdx when it switches threads of a block, and the others when a block begins.
extern __thread dim3 threadIdx __attribute__((tls_model("initial-exec"), visibility("default")));
extern __thread dim3 blockIdx __attribute__((tls_model("initial-exec"), visibility("default")));
extern __thread dim3 blockDim __attribute__((tls_model("initial-exec"), visibility("default")));
extern __thread dim3 gridDim __attribute__((tls_model("initial-exec"), visibility("default")));
// HIP's older names.
#define hipThreadIdx_x threadIdx.x
#define hipThreadIdx_y threadIdx.y
#define hipThreadIdx_z threadIdx.z
#define hipBlockIdx_x blockIdx.x
#define hipBlockIdx_y blockIdx.y
#define hipBlockIdx_z blockIdx.z
#define hipBlockDim_x blockDim.x
#define hipBlockDim_y blockDim.y
#define hipBlockDim_z blockDim.z
#define hipGridDim_x gridDim.x
#define hipGridDim_y gridDim.y
#define hipGridDim_z gridDim.z

inline void __syncthreads() { hip_on_cpu::block_barrier(); }
inline int __syncthreads_count(int predicate) {
  return static_cast<int>(hip_on_cpu::vote_in_block(predicate != 0).ayes);
}
inline int __syncthreads_or(int predicate) { return __syncthreads_count(predicate) != 0; }
inline int __syncthreads_and(int predicate) {
  const hip_on_cpu::BlockVotes votes = hip_on_cpu::vote_in_block(predicate != 0);
  return votes.ayes == votes.voters;
}
