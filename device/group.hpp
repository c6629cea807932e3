// SPDX-License-Identifier: Apache-2.0
//
// The groups that call a routine together: one Thread, a Wave (wave_size() threads in lockstep) or
// a Block. All threads of the group call, with the same arguments.
// Invariant: every group has rank(), size(), sync() and share(), which gives all threads the value
// of rank 0. sync() and share() order the memory accesses of the group's threads among each other.
// Used by all device code as a type argument.
#ifndef MESHMEM_DEVICE_GROUP_HPP_
#define MESHMEM_DEVICE_GROUP_HPP_

#include <type_traits>

#include "device/memory.hpp"

namespace meshmem {
namespace device {

MESHMEM_DEVICE int thread_in_block() {
  return static_cast<int>((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x);
}
MESHMEM_DEVICE int threads_of_block() {
  return static_cast<int>(blockDim.x * blockDim.y * blockDim.z);
}

// The number of threads of a wave. NVIDIA's compiler does not know warpSize, and would emit
// divisions by it.
MESHMEM_DEVICE int wave_size() {
#if defined(MESHMEM_TARGET_IS_CUDA)
  return 32;
#else
  return warpSize;
#endif
}

// MESHMEM_OPAQUE(value) returns `value`, which must be the same in all active threads of a wave. It
// hides from AMD's compilers that the result does not change in a loop, so they compute what
// depends on it where that is needed. Otherwise they compute that before the loop, even for a rare
// branch, and spill what exceeds their hundred scalar registers. Others see only the value.
#if defined(MESHMEM_TARGET_IS_HIP)
#define MESHMEM_OPAQUE(...) opaque(__VA_ARGS__)
template <typename T>
MESHMEM_DEVICE T opaque(T value) {
#if defined(__AMDGCN__)
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a register or two");
  if constexpr (sizeof(T) == 4) {
    value = bit_cast<T>(__builtin_amdgcn_readfirstlane(bit_cast<int>(value)));
  } else {
    const auto bits = bit_cast<std::uint64_t>(value);
    const auto low = __builtin_amdgcn_readfirstlane(static_cast<int>(bits));
    const auto high = __builtin_amdgcn_readfirstlane(static_cast<int>(bits >> 32));
    value = bit_cast<T>(std::uint64_t{static_cast<std::uint32_t>(high)} << 32 |
                        static_cast<std::uint32_t>(low));
  }
#endif
  return value;
}
#else
#define MESHMEM_OPAQUE(value, ...) (value)
#endif

struct Thread {
  MESHMEM_DEVICE_MEMBER int rank() const { return 0; }
  MESHMEM_DEVICE_MEMBER int size() const { return 1; }
  MESHMEM_DEVICE_MEMBER void sync() const {}
  template <typename T>
  MESHMEM_DEVICE_MEMBER T share(T value) const {
    return value;
  }
};

struct Wave {
  MESHMEM_DEVICE_MEMBER int rank() const {
    return static_cast<int>(static_cast<unsigned>(thread_in_block()) %
                            static_cast<unsigned>(wave_size()));
  }
  MESHMEM_DEVICE_MEMBER int size() const {  // the last wave of a block may be short
    const int first = thread_in_block() - rank();
    const int left = threads_of_block() - first;
    return left < wave_size() ? left : wave_size();
  }
  MESHMEM_DEVICE_MEMBER void sync() const {
#if defined(MESHMEM_TARGET_IS_CUDA)
    __syncwarp();  // all lanes that have not ended, converged or not
#elif defined(MESHMEM_TARGET_IS_HIP)
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
    __builtin_amdgcn_wave_barrier();
#else
    hip_on_cpu::wave_barrier();
#endif
  }
  template <typename T>
  MESHMEM_DEVICE_MEMBER T share(T value) const {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "what a shuffle moves");
    sync();  // a shuffle orders nothing
    return bit_cast<T>(__shfl(bit_cast<Signed<sizeof(T)>>(value), 0));
  }

 private:
  template <std::size_t bytes>
  using Signed = std::conditional_t<bytes == 4, int, long long>;
};

struct Block {
  MESHMEM_DEVICE_MEMBER int rank() const { return thread_in_block(); }
  MESHMEM_DEVICE_MEMBER int size() const { return threads_of_block(); }
  MESHMEM_DEVICE_MEMBER void sync() const { __syncthreads(); }
  template <typename T>
  MESHMEM_DEVICE_MEMBER T share(T value) const {
    __shared__ T shared;
    if (rank() == 0) shared = value;
    __syncthreads();
    const T result = shared;
    __syncthreads();
    return result;
  }
};

// The calling thread's rank, hidden from AMD's compilers as by MESHMEM_OPAQUE. Otherwise they hold
// the mask of the lanes of rank 0 in registers throughout a loop.
template <typename Group>
MESHMEM_DEVICE int rank_here(const Group& group) {
  int rank = group.rank();
#if defined(__AMDGCN__)
  asm volatile("" : "+v"(rank));
#endif
  return rank;
}
MESHMEM_DEVICE int rank_here(const Thread&) { return 0; }

}  // namespace device
}  // namespace meshmem

#endif  // MESHMEM_DEVICE_GROUP_HPP_
