// SPDX-License-Identifier: Apache-2.0
//
// The facts that host code must know of the target that the library was built for.
// Invariant: a question about the target is asked here, not by #if elsewhere in src/. Read by
// start-up and by the API.
#ifndef MESHMEM_GPU_DEVICE_TARGET_HPP_
#define MESHMEM_GPU_DEVICE_TARGET_HPP_

#include <hip/hip_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "gpu/host_stores.hpp"
#if defined(MESHMEM_TARGET_CPU)
#include <hip/on_cpu/for_meshmem.h>
#endif

namespace meshmem {

// Ends a kernel that calls the host's `routine`. In code for GPUs such a call does not compile.
inline void host_only([[maybe_unused]] const char* routine) {
#if defined(MESHMEM_TARGET_CPU)
  hip_on_cpu::host_only(routine);
#endif
}

// From now on `say` and `end` are called for threads of kernels that wait
// (hip_on_cpu::WaitObserver). On GPUs the host cannot know of such waits.
inline void observe_kernels([[maybe_unused]] void* (*say)(void* shown, const char* who,
                                                          const void* awaited,
                                                          std::uint64_t since_ns),
                            [[maybe_unused]] void (*end)(void* shown)) {
#if defined(MESHMEM_TARGET_CPU)
  static const hip_on_cpu::WaitObserver observer{say, end};
  hip_on_cpu::observe_waits(&observer);
#endif
}

// Devices are the processors themselves: their memory is host memory, zero and taken on first
// touch, and kernels reach the host heaps directly.
#if defined(MESHMEM_TARGET_CPU)
inline constexpr bool kDevicesAreProcessors = true;
#else
inline constexpr bool kDevicesAreProcessors = false;
#endif

#if defined(MESHMEM_TARGET_HIP)
inline constexpr bool kDevicesAreAmd = true;
#else
inline constexpr bool kDevicesAreAmd = false;
#endif

// Whether opening the handle of another device's memory is enough to reach it. Enabling access to
// that device too would make a context on it: 0.4 s of start-up and 500 MiB on H200, for each
// device in each PE. AMD's runtime needs that call.
#if defined(MESHMEM_TARGET_CUDA)
inline constexpr bool kOpeningGivesAccess = true;
#else
inline constexpr bool kOpeningGivesAccess = false;
#endif

// Declares that memory which this process has mapped belongs to `device`, for good. Only where
// devices are processors.
inline hipError_t adopt_as_device_memory([[maybe_unused]] void* base,
                                         [[maybe_unused]] std::size_t bytes,
                                         [[maybe_unused]] int device) {
#if defined(MESHMEM_TARGET_CPU)
  return hip_on_cpu::adopt_device_memory(base, bytes, device);
#else
  return hipErrorNotSupported;
#endif
}

// Finds the variable `name`, on the current device, in a module that the program has loaded by
// hand: a hipModule_t or CUmodule. Processors have no modules.
inline hipError_t find_in_module([[maybe_unused]] void* module, [[maybe_unused]] const char* name,
                                 [[maybe_unused]] void** place,
                                 [[maybe_unused]] std::size_t* bytes) {
#if defined(MESHMEM_TARGET_CPU)
  return hipErrorNotSupported;
#else
  return hipModuleGetGlobal(place, bytes, static_cast<hipModule_t>(module), name);
#endif
}

// Returns the module of a CUlibrary on the current device; null for anything else.
inline void* module_of_library([[maybe_unused]] void* library) {
  void* module = nullptr;
#if defined(MESHMEM_TARGET_CUDA)
  cudaError_t (*get)(void** module, void* library) = nullptr;
  if (!library || hip_on_cuda::find_in_driver("cuLibraryGetModule", &get) != cudaSuccess ||
      get(&module, library) != cudaSuccess)
    return nullptr;
#endif
  return module;
}

// Returns the device of a stream, or `own` if the runtime cannot say: HIP cannot before 6.0, and
// CUDA refuses to launch kernels on a stream of another device anyway.
inline int device_of_stream([[maybe_unused]] hipStream_t stream, int own) {
#if defined(MESHMEM_TARGET_CPU) || (defined(MESHMEM_TARGET_HIP) && HIP_VERSION >= 60000000)
  hipDevice_t device = own;
  if (hipStreamGetDevice(stream, &device) == hipSuccess) return device;
  (void)hipGetLastError();
#endif
  return own;
}

// Makes a stream on which the library's own work never waits behind a kernel of the program. AMD's
// runtime puts all streams of one priority on four queues (GPU_MAX_HW_QUEUES), each of which runs
// in order. On the same queue a kernel that waits for this PE would block the work that it waits
// for. Programs' streams have another priority, unless the program asks for the highest.
inline hipError_t make_library_stream(hipStream_t* stream) {
#if defined(MESHMEM_TARGET_HIP)
  constexpr int kHighest = -1;
  return hipStreamCreateWithPriority(stream, hipStreamNonBlocking, kHighest);
#else
  return hipStreamCreateWithFlags(stream, hipStreamNonBlocking);
#endif
}

// Whether querying an event may end the capture of the stream that the event was last recorded on,
// although that was before the capture. AMD's runtime does so since 6.2, and hip_on_cpu for tests.
inline constexpr bool kQueriesEndCaptures = kDevicesAreAmd || kDevicesAreProcessors;

// Makes a stream of the current device with the highest priority, if streams have priorities.
inline hipError_t create_urgent_stream(hipStream_t* stream) {
  int least = 0, greatest = 0;
  const hipError_t error = hipDeviceGetStreamPriorityRange(&least, &greatest);
  return error == hipSuccess ? hipStreamCreateWithPriority(stream, hipStreamNonBlocking, greatest)
                             : error;
}

// Returns the ticks of the device's wall_clock64() in one second. HIP before 6.0 does not name the
// rate; AMD's data-center GPUs count 100 MHz.
inline double wall_clock_rate([[maybe_unused]] int device) {
  int kilohertz = 100'000;
#if !defined(MESHMEM_TARGET_HIP) || HIP_VERSION >= 60000000
  if (hipDeviceGetAttribute(&kilohertz, hipDeviceAttributeWallClockRate, device) != hipSuccess)
    (void)hipGetLastError();
  if (kilohertz <= 0) kilohertz = 100'000;
#endif
  return kilohertz * 1e3;
}

// Whether copy engines are used: they run beside kernels, and carry more from GPU to GPU than
// kernels' stores. AMD GPUs have such engines too; what they carry between GPUs was never measured.
#if defined(MESHMEM_TARGET_CUDA)
inline constexpr bool kHasCopyEngines = true;
using CopyNode = cudaGraphNode_t;
#else
inline constexpr bool kHasCopyEngines = false;
using CopyNode = void*;
#endif

// Sets `id` to a number that no other stream of this process has, or had before it was destroyed.
// For the target with copy engines.
inline hipError_t get_stream_id([[maybe_unused]] hipStream_t stream,
                                [[maybe_unused]] unsigned long long* id) {
#if defined(MESHMEM_TARGET_CUDA)
  return hip_on_cuda::to_hip(cudaStreamGetId(stream, id));
#else
  return hipErrorNotSupported;
#endif
}

// Puts a copy into the graph that captures the stream, behind the work that the stream has now. The
// stream's later work waits for the copy only after join_copy_node().
inline hipError_t add_copy_node([[maybe_unused]] hipStream_t stream, [[maybe_unused]] void* to,
                                [[maybe_unused]] const void* from,
                                [[maybe_unused]] std::size_t bytes,
                                [[maybe_unused]] CopyNode* node) {
#if defined(MESHMEM_TARGET_CUDA)
  cudaStreamCaptureStatus status{};
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* before = nullptr;
  std::size_t n = 0;
#if CUDART_VERSION >= 13000
  const cudaGraphEdgeData* edges = nullptr;
  cudaError_t error =
      cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, &before, &edges, &n);
#else
  cudaError_t error = cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, &before, &n);
#endif
  if (error == cudaSuccess)
    error = cudaGraphAddMemcpyNode1D(node, graph, before, n, to, from, bytes, cudaMemcpyDefault);
  return hip_on_cuda::to_hip(error);
#else
  return hipErrorNotSupported;
#endif
}
inline hipError_t join_copy_node([[maybe_unused]] hipStream_t stream,
                                 [[maybe_unused]] CopyNode node) {
#if defined(MESHMEM_TARGET_CUDA)
#if CUDART_VERSION >= 13000
  return hip_on_cuda::to_hip(cudaStreamUpdateCaptureDependencies(stream, &node, nullptr, 1,
                                                                 cudaStreamAddCaptureDependencies));
#else
  return hip_on_cuda::to_hip(
      cudaStreamUpdateCaptureDependencies(stream, &node, 1, cudaStreamAddCaptureDependencies));
#endif
#else
  return hipErrorNotSupported;
#endif
}

// Returns how the processor stores into coherent memory of `device`, in which `marker` lies;
// nullopt if it must not, or if that is not known.
inline std::optional<HostPath> host_path_to([[maybe_unused]] int device,
                                            [[maybe_unused]] std::uint64_t* marker) {
#if defined(MESHMEM_TARGET_CPU)
  if (hip_on_cpu::has_large_bar()) return HostPath{marker};
#elif defined(MESHMEM_TARGET_HIP) && defined(__x86_64__)
  hipDeviceProp_t properties{};
  if (hipGetDeviceProperties(&properties, device) != hipSuccess || !properties.isLargeBar)
    return std::nullopt;
  const std::string_view name = properties.gcnArchName;  // such as gfx90a:sramecc+:xnack-
  volatile unsigned* const flush = properties.hdpMemFlushCntl;
  if (keeps_host_stores_in_order(name.substr(0, name.find(':')), flush != nullptr))
    return HostPath{marker, flush};
#endif
  return std::nullopt;
}

// Whether a line of 128 bytes that one instruction stores arrives whole in a peer's memory
// (device/collectives/wide_lines.hpp).
#if defined(MESHMEM_TARGET_CUDA)
inline constexpr bool kHasWideLines = true;
#else
inline constexpr bool kHasWideLines = false;
#endif

}  // namespace meshmem

#endif  // MESHMEM_GPU_DEVICE_TARGET_HPP_
