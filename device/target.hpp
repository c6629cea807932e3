// SPDX-License-Identifier: Apache-2.0
//
// Tells which compiler compiles this file, and whether it compiles for a GPU now. No other file
// asks. A translation unit is device code if hipcc (AMD GPUs) or nvcc (NVIDIA GPUs) compiles it, or
// a C++ compiler with MESHMEM_HIP_ON_CPU. Then a kernel's blocks are threads of the process.
// Invariant: every other translation unit is host code. There MESHMEM_DEVICE_CODE is undefined, and
// the qualifiers do nothing. C++17.
#ifndef MESHMEM_DEVICE_TARGET_HPP_
#define MESHMEM_DEVICE_TARGET_HPP_

#if defined(__CUDACC__) || defined(__HIP__) || defined(MESHMEM_HIP_ON_CPU)
#define MESHMEM_DEVICE_CODE 1
#include <hip/hip_runtime.h>
#define MESHMEM_DEVICE MESHMEM_CHECKED_NAME __device__ inline
#define MESHMEM_DEVICE_MEMBER MESHMEM_CHECKED_NAME __device__
#if defined(__CUDACC__)
#define MESHMEM_DEVICE_COLD __device__ __noinline__ static
#else
#define MESHMEM_DEVICE_COLD __device__ __attribute__((noinline, cold, unused)) static
#endif
// For a function that nvcc shall not inline, since each caller would grow by pages of code. Such a
// function takes its arguments by value, so the caller can keep them in registers. Other compilers
// inline it, since the check of AMD's instructions (tests/compile/instructions.py) follows no
// calls.
#if defined(__CUDACC__)
#define MESHMEM_DEVICE_APART MESHMEM_DEVICE_COLD
#else
#define MESHMEM_DEVICE_APART MESHMEM_DEVICE
#endif
// For a function that compilers for AMD GPUs shall not inline, since registers are few: a kernel of
// up to 1,024 threads gets 64 to 128 of them.
#if defined(__HIP__)
#define MESHMEM_DEVICE_OUT_OF_LINE __device__ __attribute__((noinline))
#endif
// For a lambda.
#if defined(__CUDACC__)
#define MESHMEM_NOT_INLINED
#else
#define MESHMEM_NOT_INLINED __attribute__((noinline))
#endif
#define MESHMEM_HOST_DEVICE MESHMEM_CHECKED_NAME __host__ __device__ inline
#define MESHMEM_HOST_DEVICE_MEMBER MESHMEM_CHECKED_NAME __host__ __device__
#else
#define MESHMEM_HOST_DEVICE inline
#define MESHMEM_HOST_DEVICE_MEMBER
#endif

#if defined(__CUDACC__)
#define MESHMEM_TARGET_IS_CUDA 1
#elif defined(__HIP__)
#define MESHMEM_TARGET_IS_HIP 1
#if defined(__HIP_DEVICE_COMPILE__) && __HIP_DEVICE_COMPILE__ && !defined(__AMDGCN__)
#error "meshmem knows no other HIP device than AMD's GPUs"
#endif
#elif defined(MESHMEM_HIP_ON_CPU)
#define MESHMEM_TARGET_IS_CPU 1
#endif

// 1 if routines in kernels check their arguments and print mistakes: `oshhip --check`, or
// -DMESHMEM_KERNEL_CHECKS. On processors the linker sees functions with checks under other names,
// so that one program can have files with and without checks. Code for GPUs does not need this,
// since each file has its own functions.
#if !defined(MESHMEM_KERNEL_CHECKS)
#define MESHMEM_KERNEL_CHECKS 0
#endif
#if MESHMEM_KERNEL_CHECKS && defined(MESHMEM_TARGET_IS_CPU)
#define MESHMEM_CHECKED_NAME __attribute__((abi_tag("checked")))
#else
#define MESHMEM_CHECKED_NAME
#endif

// For a struct among a kernel's parameters: the kernel reads it where it lies, without a copy.
#if defined(MESHMEM_TARGET_IS_CUDA)
#define MESHMEM_GRID_CONSTANT __grid_constant__
#else
#define MESHMEM_GRID_CONSTANT
#endif

// The short floating-point types.
#if defined(MESHMEM_TARGET_IS_CUDA)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
typedef __half meshmem_half;
typedef __nv_bfloat16 meshmem_bfloat16;
#elif defined(MESHMEM_DEVICE_CODE)
#include <hip/hip_bfloat16.h>
#include <hip/hip_fp16.h>
typedef __half meshmem_half;
typedef hip_bfloat16 meshmem_bfloat16;
#endif

// MESHMEM_DISPATCH(device, host) does its first statement in kernels, and its second in host code.
// On the cpu target both are compiled, and the choice is made at run time.
#if defined(__CUDA_ARCH__) || (defined(__HIP_DEVICE_COMPILE__) && __HIP_DEVICE_COMPILE__)
#define MESHMEM_DISPATCH(device, host) device;
#elif defined(MESHMEM_HIP_ON_CPU)
#define MESHMEM_DISPATCH(device, host) \
  if (hip_on_cpu::in_kernel()) {       \
    device;                            \
  } else {                             \
    host;                              \
  }
#else
#define MESHMEM_DISPATCH(device, host) host;
#endif

#endif  // MESHMEM_DEVICE_TARGET_HPP_
