// SPDX-License-Identifier: Apache-2.0
// Launching a kernel: its arguments are converted to the types of its parameters, copied, and handed to the library.
// Invariant: the copies live until no stream or graph can run the launch again.
// Included by hip_runtime.h only; launch.cpp takes over.
#pragma once

#include <tuple>
#include <utility>

#include "hip/on_cpu/thread.h"

#pragma GCC visibility push(default)
namespace hip_on_cpu {

// A kernel and its arguments, without their types. `run` is null for a kernel that is; `destroy` ends `arguments`.
struct BoundKernel {
  const char* name;
  void (*run)(const void* arguments);
  void (*destroy)(void* arguments);
  void* arguments;
};

// Takes over the kernel's arguments, also when it fails; a failure is remembered for hipGetLastError.
hipError_t submit_kernel(const BoundKernel& kernel, dim3 grid, dim3 block, std::size_t shared,
                         hipStream_t stream, bool is_cooperative = false);

hipError_t blocks_per_processor(int* blocks, int block_size, std::size_t shared);

template <typename... Parameters>
struct KernelArguments {
  void (*kernel)(Parameters...);
  std::tuple<Parameters...> values;

  static void run(const void* self) {
    const auto* arguments = static_cast<const KernelArguments*>(self);
    std::apply(arguments->kernel, arguments->values);
  }
  static void destroy(void* self) { delete static_cast<KernelArguments*>(self); }
  static BoundKernel bind(const char* name, void (*kernel)(Parameters...),
                          std::tuple<Parameters...> values) {
    return {name, kernel == nullptr ? nullptr : &run, &destroy,
            new KernelArguments{kernel, std::move(values)}};
  }
};

template <typename... Parameters, typename... Arguments>
inline void launch(const char* name, void (*kernel)(Parameters...), dim3 grid, dim3 block,
                   std::size_t shared, hipStream_t stream, Arguments&&... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments),
                "the kernel takes another number of arguments");
  submit_kernel(KernelArguments<Parameters...>::bind(
                    name, kernel, std::tuple<Parameters...>(std::forward<Arguments>(arguments)...)),
                grid, block, shared, stream);
}

template <typename... Parameters, std::size_t... i>
inline std::tuple<Parameters...> arguments_at(void** addresses, std::index_sequence<i...>) {
  static_cast<void>(addresses);  // not used by a kernel without parameters
  return std::tuple<Parameters...>(*static_cast<std::remove_cv_t<Parameters>*>(addresses[i])...);
}
template <typename... Parameters>
inline BoundKernel bind_by_address(void (*kernel)(Parameters...), void** addresses) {
  return KernelArguments<Parameters...>::bind(
      "a kernel launched by its address", kernel,
      arguments_at<Parameters...>(addresses, std::index_sequence_for<Parameters...>()));
}

}  // namespace hip_on_cpu
#pragma GCC visibility pop

// The first argument may be an instance of a template, with or without parentheses around it.
#define hipLaunchKernelGGL(kernel, ...) ::hip_on_cpu::launch(#kernel, kernel, __VA_ARGS__)

// By the kernel's address with its type, which alone tells what lies at `arguments`.
template <typename... Parameters>
inline hipError_t hipLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block,
                                  void** arguments, std::size_t shared, hipStream_t stream) {
  return hip_on_cpu::submit_kernel(hip_on_cpu::bind_by_address(kernel, arguments), grid, block,
                                   shared, stream);
}

// All blocks of every launch can wait for each other, so that none has too many for a cooperative one. What is
// asked for is remembered: kernels that count on it can tell that they were launched otherwise.
template <typename... Parameters>
inline hipError_t hipLaunchCooperativeKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block,
                                             void** arguments, unsigned shared,
                                             hipStream_t stream) {
  return hip_on_cpu::submit_kernel(hip_on_cpu::bind_by_address(kernel, arguments), grid, block,
                                   shared, stream, true);
}

template <typename Kernel>
inline hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel*, int block_size,
                                                               std::size_t shared) {
  return hip_on_cpu::blocks_per_processor(blocks, block_size, shared);
}
