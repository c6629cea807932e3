// SPDX-License-Identifier: Apache-2.0
//
// What the files of the library's own kernels share: how a kernel is loaded and launched, with how
// many threads, and how one is chosen by a type, a width or a size that is known at run time.
// Invariant: no module state and no collectives: a file includes those that its kernels call. A
// kernel is one call of a routine that users' kernels have too, but for those of single_unit.hpp
// and single_wide_line.hpp, after a call of after_earlier_kernels(), and its file loads each that
// it launches.
#ifndef MESHMEM_DEVICE_KERNELS_LAUNCH_KERNEL_HPP_
#define MESHMEM_DEVICE_KERNELS_LAUNCH_KERNEL_HPP_

#include <hip/hip_runtime.h>

#include <atomic>

#include "device/group.hpp"
#include "device/launch.hpp"

namespace meshmem {
namespace device {

constexpr unsigned kThreads = 512;
constexpr unsigned kCopyThreads = 512;
constexpr unsigned kThreadsForPes = 64;  // each for some of the PEs; at least a wave
constexpr unsigned kMostCopyBlocks = 64;
constexpr std::size_t kBytesPerCopyBlock = 32 * 1024;
constexpr std::size_t kOneBlockBytes = 64 * 1024;  // beyond, data moves in kernels of its own

// All the blocks of a launch as one group that never waits.
struct Grid {
  MESHMEM_DEVICE_MEMBER int rank() const {
    return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  }
  MESHMEM_DEVICE_MEMBER int size() const { return static_cast<int>(gridDim.x * blockDim.x); }
};

inline unsigned copy_blocks_for(std::size_t bytes) {
  const std::size_t wanted = (bytes + kBytesPerCopyBlock - 1) / kBytesPerCopyBlock;
  return static_cast<unsigned>(wanted < 1                 ? 1
                               : wanted > kMostCopyBlocks ? kMostCopyBlocks
                                                          : wanted);
}

// The end of a kernel releases to its own device only, and neither another block nor a later kernel
// can write back what this one has stored: each thread does it, for the signal, the quiet or the
// meeting that follows on the stream.
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
// Whether kernels may start early (see launch()): known once one is loaded.
inline std::atomic<bool> may_start_early{false};

inline hipError_t load_one(const void* kernel) {
  hipFuncAttributes attributes;
  const hipError_t error = hipFuncGetAttributes(&attributes, kernel);
#if defined(MESHMEM_TARGET_IS_CUDA)
  // Code for older GPUs has no wait in it, and older drivers capture no such launch.
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
hipError_t load_move_kernels();
hipError_t load_reduction_kernels();

// ---- Choosing

// A type that is given, not deduced from an argument; and as an argument, a type by itself.
template <typename T>
struct Given {
  using Type = T;
};

// f(Given<E>()) for the type that kernels have of that name.
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

// f for each of those types, up to the first failure.
template <typename F>
hipError_t with_each_type(const F& f) {
  hipError_t error = hipSuccess;
  for (int type = 0; error == hipSuccess && type < static_cast<int>(ElemType::none); ++type)
    error = with_type(static_cast<ElemType>(type), f);
  return error;
}

// f(Given<B>()) for the unsigned integer of so many bytes.
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

// f for each of those widths, up to the first failure.
template <typename F>
hipError_t with_each_bits(const F& f) {
  hipError_t error = hipSuccess;
  for (std::size_t bytes = 1; error == hipSuccess && bytes <= 8; bytes *= 2)
    error = with_bits(bytes, f);
  return error;
}

// ---- Launching

// What this launch itself comes to. HIP's launch as a statement would leave that to
// hipGetLastError, which may speak of a failure that the program has had before, and takes it away.
// NVIDIA's programmatic launch, where there is one: the kernel is brought to the GPU when no block
// of the one before it on the stream runs any more, though that one's end is not yet told to
// anyone.
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

// Every kernel begins with it: before anything is read that earlier work on the stream may have
// written, and before anything is written that it may read.
MESHMEM_DEVICE void after_earlier_kernels() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
// A kernel may say that the next one is to be brought already. It waits for no other PE from here
// on: else the next could take the room of a kernel on another stream, which the other PE is
// waiting for.
MESHMEM_DEVICE void allow_next_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_KERNELS_LAUNCH_KERNEL_HPP_
