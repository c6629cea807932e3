// SPDX-License-Identifier: Apache-2.0
//
// Checks that all threads of a group call a group's routine. If some did not, the call would leave
// work undone or wait for ever. The cpu target always checks this, and GPUs do so in kernels with
// checks (`oshhip --check`).
// Invariant: without checks, code for GPUs has nothing of this. Called by the routines in
// shmem/device.hpp whose names end in _wave, _block or _grid, before anything else.
#ifndef MESHMEM_DEVICE_WHOLE_GROUP_HPP_
#define MESHMEM_DEVICE_WHOLE_GROUP_HPP_

#include "device/grid.hpp"
#include "device/module.hpp"

namespace meshmem {
namespace device {

#if defined(MESHMEM_TARGET_IS_CPU)
// The scheduler (hip_on_cpu/block.hpp) compares the calls of a group's threads when the threads
// meet, and at the end of the block.
inline void note_call(const Thread&, const char*) {}
inline void note_call(const Wave&, const char* routine) { hip_on_cpu::note_call_of_wave(routine); }
inline void note_call(const Block&, const char* routine) {
  hip_on_cpu::note_call_of_block(routine);
}
inline void note_call(const CooperativeGrid&, const char* routine) {
  hip_on_cpu::note_call_of_grid(routine);
}
#elif MESHMEM_KERNEL_CHECKS
[[noreturn]] MESHMEM_DEVICE void refuse_part(int callers, int size) {
  MESHMEM_PRINT_MISTAKE("the call takes all %d threads of the group, and %d make it", size,
                        callers);
  trap();
}
MESHMEM_DEVICE void note_call(const Thread&, const char*) {}
// Finds lanes that have ended. On AMD GPUs it also finds lanes that have taken another branch.
MESHMEM_DEVICE void note_call(const Wave& wave, const char*) {
#if defined(MESHMEM_TARGET_IS_CUDA)
  const int callers = __popc(__ballot_sync(0xffffffff, 1));
#else
  const int callers = __popcll(__ballot(1));
#endif
  if (callers != wave.size()) refuse_part(callers, wave.size());
}
MESHMEM_DEVICE void note_call(const Block& block, const char*) {
  const int callers = __syncthreads_count(1);
  if (callers != block.size()) refuse_part(callers, block.size());
}
MESHMEM_DEVICE void note_call(const CooperativeGrid&, const char* routine) {
  note_call(Block(), routine);
}
#else
template <typename Group>
MESHMEM_DEVICE void note_call(const Group&, const char*) {}
#endif

// Returns the group, after noting that the calling thread calls `routine`.
template <typename Group>
MESHMEM_DEVICE Group together(const Group& group, const char* routine) {
  note_call(group, routine);
  return group;
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_WHOLE_GROUP_HPP_
