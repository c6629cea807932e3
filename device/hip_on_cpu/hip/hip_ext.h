// SPDX-License-Identifier: Apache-2.0
// AMD's own launches on ordinary CPUs: of a kernel between two events. Included by programs.
// Deliberately not there: launches of kernels of modules.
#pragma once

#include "hip/hip_runtime.h"

#define hipExtAnyOrderLaunch 0x1  // hipErrorNotSupported here

// Records `start` before the kernel and `stop` after it; either may be null. Takes the same kernel
// addresses as hipLaunchKernel().
inline hipError_t hipExtLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                     std::size_t shared, hipStream_t stream, hipEvent_t start,
                                     hipEvent_t stop, int flags) {
  return hip_on_cpu::submit_kernel_between(hip_on_cpu::bind_noted(kernel, arguments), grid, block,
                                           shared, stream, start, stop,
                                           static_cast<unsigned>(flags));
}
template <typename... Parameters>
inline hipError_t hipExtLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block,
                                     void** arguments, std::size_t shared, hipStream_t stream,
                                     hipEvent_t start, hipEvent_t stop, int flags) {
  return hip_on_cpu::submit_kernel_between(hip_on_cpu::bind_by_address(kernel, arguments), grid,
                                           block, shared, stream, start, stop,
                                           static_cast<unsigned>(flags));
}

// The same with the arguments themselves; an error is told by hipGetLastError().
template <typename... Parameters, typename... Arguments>
inline void hipExtLaunchKernelGGL(void (*kernel)(Parameters...), const dim3& grid,
                                  const dim3& block, std::uint32_t shared, hipStream_t stream,
                                  hipEvent_t start, hipEvent_t stop, std::uint32_t flags,
                                  Arguments... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments),
                "the kernel takes another number of arguments");
  hip_on_cpu::submit_kernel_between(hip_on_cpu::KernelArguments<Parameters...>::bind(
                                        "a kernel launched by its address", kernel,
                                        std::tuple<Parameters...>(std::move(arguments)...)),
                                    grid, block, shared, stream, start, stop, flags);
}
