// SPDX-License-Identifier: Apache-2.0
//
// Limits waits in kernels on GPUs to MESHMEM_TIMEOUT. A wait that is late tells the host its place,
// and the host ends the job (core/kernel_waits.cpp, which limits waits on processors too).
// Invariant: no wait within the limit is late, however many follow each other. A wait of twice the
// limit is late, if it polls some thousand times within the limit. Included by module.hpp.
#ifndef MESHMEM_DEVICE_LATE_WAITS_HPP_
#define MESHMEM_DEVICE_LATE_WAITS_HPP_

#if !defined(MESHMEM_TARGET_IS_CPU)

// Most polls only read the count of cycles. A wait looks at the time where bits 10 to 19 of the
// count are zero: for half a microsecond, about twice a millisecond. So a wait of a few
// microseconds hardly ever looks. A poll that takes longer than half a microsecond may miss such a
// time, but one poll in 1,024 hits it on average.
//
// A wait's first look is its begin. It lies in the wait's own Waiting, so another wait never
// continues it, and what was before the first look does not count. Both make a wait late too
// late, never too early. At a later look the time since then is compared with the limit. The
// difference of the 32-bit times is signed, so a clock that another processor has a little earlier
// does not matter. The limit is below half the range (2^30 units are 13 days).

namespace meshmem {
namespace device {

template <typename Find>
MESHMEM_DEVICE std::uint64_t place_of(const Find& find) {
  return reinterpret_cast<std::uintptr_t>(find());
}

#if MESHMEM_KERNEL_CHECKS
template <std::size_t bytes>
MESHMEM_DEVICE void copy_name(char (&to)[bytes], const char* from) {
  std::size_t i = 0;
  for (; i + 1 < bytes && from[i] != 0; ++i) to[i] = from[i];
  to[i] = 0;
}
// Returns false if another thread does it.
MESHMEM_DEVICE bool describe_call(LateWait& late) {
  if (compare_exchange(&late.is_taken, std::uint32_t{0}, std::uint32_t{1}) != 0) return false;
  const unsigned block[3] = {blockIdx.x, blockIdx.y, blockIdx.z};
  const unsigned thread[3] = {threadIdx.x, threadIdx.y, threadIdx.z};
  for (int i = 0; i < 3; ++i) {
    late.block[i] = block[i];
    late.thread[i] = thread[i];
  }
  if (const Entry* const entry = current_entry()) {
    late.line = entry->line();
    copy_name(late.routine, entry->routine());
    copy_name(late.file, entry->file());
  }
  release_fence();  // publishes the description to the host, which acquires the place
  return true;
}
#else
MESHMEM_DEVICE bool describe_call(LateWait&) { return true; }
template <typename Find>
MESHMEM_DEVICE std::uint64_t place_of(const InCollective<Find>&) {
  return LateWait::kInCollective;
}
#endif

template <typename Find>
MESHMEM_DEVICE_MEMBER void Waiting::pause_for(const Find& find) {
  pause();
  if (!is_time_to_look()) return;
  const std::uint32_t now = wait_units();
  const std::int32_t most = state().most_wait;
  if (since_ == 0) {
    since_ = now;
  } else if (most != 0 && static_cast<std::int32_t>(now - since_) > most) {
    LateWait& late = *state().late_wait;
    if (describe_call(late)) store_relaxed(&late.place, place_of(find));
    await_end_of_job();
  }
}

}  // namespace device
}  // namespace meshmem

#endif

#endif  // MESHMEM_DEVICE_LATE_WAITS_HPP_
