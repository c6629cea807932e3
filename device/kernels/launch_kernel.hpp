// SPDX-License-Identifier: Apache-2.0
//
// Shared by the files of the library's own kernels: loads and launches a kernel, and decides its
// number of threads. Chooses a kernel by a type, a width or a size that is known at run time.
// Invariant: a kernel calls after_earlier_kernels() before it reads or writes memory. A file loads
// each kernel that it launches, and includes the collectives that it calls; this one includes none.
#ifndef MESHMEM_DEVICE_KERNELS_LAUNCH_KERNEL_HPP_
#define MESHMEM_DEVICE_KERNELS_LAUNCH_KERNEL_HPP_

#include <hip/hip_runtime.h>

#include <atomic>

#include "device/group.hpp"
#include "device/launch.hpp"
#if defined(MESHMEM_TARGET_IS_CPU)
#include <hip/on_cpu/for_meshmem.h>
#endif

namespace meshmem {
namespace device {

constexpr unsigned kThreads = 512;
constexpr unsigned kCopyThreads = 512;
constexpr unsigned kThreadsForPes =
    64;  // where each thread serves some of the PEs; at least a wave
constexpr unsigned kMostCopyBlocks = 64;
constexpr std::size_t kBytesPerCopyBlock = 32 * 1024;
constexpr std::size_t kOneBlockBytes = 64 * 1024;  // above, a kernel of many blocks moves the data

// The threads of a block if its kernel works with any number of them: `wide` on GPUs and in wide
// kernels, else one. On a processor the threads of a block take turns.
#if defined(MESHMEM_TARGET_IS_CPU)
inline bool kernels_are_wide() { return hip_on_cpu::has_wide_kernels(); }
inline unsigned any_threads(unsigned wide) { return kernels_are_wide() ? wide : 1; }
#else
constexpr bool kernels_are_wide() { return true; }
constexpr unsigned any_threads(unsigned wide) { return wide; }
#endif

// All the blocks of a launch as one group that never waits.
struct Grid {
  MESHMEM_DEVICE_MEMBER int rank() const {
    return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  }
  MESHMEM_DEVICE_MEMBER int size() const { return static_cast<int>(gridDim.x * blockDim.x); }
};

inline unsigned copy_blocks_for(std::size_t bytes) {
  if (!kernels_are_wide()) return 1;
  const std::size_t wanted = (bytes + kBytesPerCopyBlock - 1) / kBytesPerCopyBlock;
  return static_cast<unsigned>(wanted < 1                 ? 1
                               : wanted > kMostCopyBlocks ? kMostCopyBlocks
                                                          : wanted);
}

// Each thread calls it at the end of a kernel that has stored to other PEs. So a signal, quiet or
// meeting that follows on the stream comes after these stores. The end of a kernel releases to its
// own device only, and no other block or later kernel can release for these threads.
MESHMEM_DEVICE void release_at_end() { release_all(Thread()); }

// ---- Loading

#if defined(MESHMEM_TARGET_IS_CPU)
// A kernel is launched by its typed address: nothing else knows the parameters.
template <typename Kernel>
Kernel* handle_of(Kernel* kernel) {
  return kernel;
}
inline hipError_t load_one(const void*) { return hipSuccess; }
#else
template <typename Kernel>
const void* handle_of(Kernel* kernel) {
  return reinterpret_cast<const void*>(kernel);
}
// Whether kernels may start early (see launch()). Set when kernels are loaded.
inline std::atomic<bool> may_start_early{false};

inline hipError_t load_one(const void* kernel) {
  hipFuncAttributes attributes;
  const hipError_t error = hipFuncGetAttributes(&attributes, kernel);
#if defined(MESHMEM_TARGET_IS_CUDA)
  // Code for older GPUs lacks the wait of after_earlier_kernels(), and older drivers cannot capture
  // such a launch.
  int driver = 0;
  if (error == hipSuccess && hipDriverGetVersion(&driver) == hipSuccess)
    may_start_early = attributes.ptxVersion >= 90 && driver >= 12030;
#endif
  return error;
}
#endif

// The first failure, if any.
template <typename... Kernels>
hipError_t load(Kernels*... kernels) {
  for (const void* kernel : {reinterpret_cast<const void*>(kernels)...})
    if (const hipError_t error = load_one(kernel)) return error;
  return hipSuccess;
}

// The kernels of each file, for load_kernels().
hipError_t load_one_sided_kernels();
hipError_t load_far_kernels();
hipError_t load_move_kernels();
hipError_t load_broadcast_kernels();
hipError_t load_reduction_kernels();
hipError_t load_moe_kernels();

// ---- Choosing

// C++20's std::type_identity, which this code for C++17 lacks: passes a type as an argument, and
// keeps a parameter's type from being deduced.
template <typename T>
struct Given {
  using Type = T;
};

// Calls f(Given<E>()) for the type E that kernels have for `type`.
template <typename F>
hipError_t with_type(ElemType type, const F& f) {
  switch (type) {
    case ElemType::i8:
      return f(Given<std::int8_t>());
    case ElemType::u8:
      return f(Given<std::uint8_t>());
    case ElemType::i16:
      return f(Given<std::int16_t>());
    case ElemType::u16:
      return f(Given<std::uint16_t>());
    case ElemType::i32:
      return f(Given<std::int32_t>());
    case ElemType::u32:
      return f(Given<std::uint32_t>());
    case ElemType::i64:
      return f(Given<std::int64_t>());
    case ElemType::u64:
      return f(Given<std::uint64_t>());
    case ElemType::f32:
      return f(Given<float>());
    case ElemType::f64:
      return f(Given<double>());
    case ElemType::f16:
      return f(Given<meshmem_half>());
    case ElemType::bf16:
      return f(Given<meshmem_bfloat16>());
    default:
      return hipErrorNotSupported;
  }
}

// Calls f for each of those types, up to the first failure.
template <typename F>
hipError_t with_each_type(const F& f) {
  hipError_t error = hipSuccess;
  for (int type = 0; error == hipSuccess && type <= static_cast<int>(ElemType::bf16); ++type)
    error = with_type(static_cast<ElemType>(type), f);
  return error;
}

// Calls f(Given<B>()) for the unsigned integer B of `bytes` bytes.
template <typename F>
hipError_t with_bits(std::size_t bytes, const F& f) {
  switch (bytes) {
    case 1:
      return f(Given<std::uint8_t>());
    case 2:
      return f(Given<std::uint16_t>());
    case 4:
      return f(Given<std::uint32_t>());
    case 8:
      return f(Given<std::uint64_t>());
    default:
      return hipErrorInvalidValue;
  }
}

// Calls f for each of those widths, up to the first failure.
template <typename F>
hipError_t with_each_bits(const F& f) {
  hipError_t error = hipSuccess;
  for (std::size_t bytes = 1; error == hipSuccess && bytes <= 8; bytes *= 2)
    error = with_bits(bytes, f);
  return error;
}

// ---- Launching

// Launches a kernel and returns the error of this launch. (hipLaunchKernelGGL would leave it to
// hipGetLastError, which may report an earlier error of the program's, and clears it.) On NVIDIA
// GPUs it is a programmatic launch if may_start_early: the kernel is brought to the GPU while the
// one before it on the stream ends.
template <typename... Parameters>
hipError_t launch(void (*kernel)(Parameters...), dim3 blocks, unsigned threads, hipStream_t stream,
                  typename Given<Parameters>::Type... arguments) {
  void* addresses[] = {static_cast<void*>(&arguments)..., nullptr};
#if defined(MESHMEM_TARGET_IS_CUDA) && CUDART_VERSION >= 12030
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = dim3(threads);
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = may_start_early ? 1 : 0;
  return hip_on_cuda::to_hip(cudaLaunchKernelExC(&config, handle_of(kernel), addresses));
#else
  return hipLaunchKernel(handle_of(kernel), blocks, dim3(threads), addresses, 0, stream);
#endif
}

// Waits for the earlier work on the stream, after a programmatic launch. Every kernel calls it
// before it reads memory that this work may write, and before it writes memory that this work may
// read.
MESHMEM_DEVICE void after_earlier_kernels() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
// Lets the next kernel on the stream be brought to the GPU now. From here on the caller must not
// wait for another PE. That PE may wait for a kernel on another stream of this GPU, and the next
// kernel could take that kernel's room.
MESHMEM_DEVICE void allow_next_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_KERNELS_LAUNCH_KERNEL_HPP_
