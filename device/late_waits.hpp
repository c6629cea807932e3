// SPDX-License-Identifier: Apache-2.0
//
// Ends a kernel on a GPU whose wait lasts longer than MESHMEM_TIMEOUT, if kernels have checks. A
// wait notes in the Entry of its call when it began, so the polling loop needs no register for it.
// Invariant: without checks there is no code of this. On processors the host limits such waits
// (core/kernel_waits.hpp). Included by module.hpp.
#ifndef MESHMEM_DEVICE_LATE_WAITS_HPP_
#define MESHMEM_DEVICE_LATE_WAITS_HPP_

#if MESHMEM_KERNEL_CHECKS && !defined(MESHMEM_TARGET_IS_CPU)

namespace meshmem {
namespace device {

// Packets are no numbers, and a wait for one of several variables knows only where these are.
template <typename T>
[[noreturn]] MESHMEM_DEVICE void refuse_late_wait(const T* awaited) {
  const void* const address = awaited;
  if constexpr (std::is_integral_v<T>)
    MESHMEM_PRINT_MISTAKE("waited longer than MESHMEM_TIMEOUT for the value at %p, which is %lld",
                          address, static_cast<long long>(load_relaxed(awaited)));
  else
    MESHMEM_PRINT_MISTAKE("waited longer than MESHMEM_TIMEOUT for a value at %p", address);
  trap();
}

// HIP before 6.0 has wall_clock64() only where it compiles for the device.
MESHMEM_DEVICE std::uint64_t wall_clock() {
#if defined(MESHMEM_TARGET_IS_CUDA) || (defined(__HIP_DEVICE_COMPILE__) && __HIP_DEVICE_COMPILE__)
  return static_cast<std::uint64_t>(wall_clock64());
#else
  return 0;
#endif
}

// The clock is read first: find() may look at many variables.
template <typename Find>
MESHMEM_DEVICE void pause_for(const Find& find) {
  pause();
  const std::uint64_t longest = state().longest_wait;
  if (longest == 0) return;
  const Entry* const entry = current_entry();
  if (entry && entry->has_waited_for(longest, wall_clock())) refuse_late_wait(find());
}
MESHMEM_DEVICE void has_waited() {
  if (const Entry* const entry = current_entry()) entry->end_wait();
}

}  // namespace device
}  // namespace meshmem

#endif

#endif  // MESHMEM_DEVICE_LATE_WAITS_HPP_
