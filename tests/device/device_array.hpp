// SPDX-License-Identifier: Apache-2.0
//
// Shared by the tests of device code: arrays in the symmetric heap of the device, and launches.
// Invariant: the host never dereferences memory of the device; it first copies a kernel's results
// into a std::vector. A call of HIP that fails ends the job, since the other PEs would wait for
// this one forever.
#ifndef MESHMEM_TESTS_DEVICE_DEVICE_ARRAY_HPP
#define MESHMEM_TESTS_DEVICE_DEVICE_ARRAY_HPP

#include <hip/hip_runtime.h>
#include <shmem.h>
#include <shmemx.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "../api/symmetric_array.hpp"

namespace meshmem {

inline void must(hipError_t error, const char* what) {
  if (error == hipSuccess) return;
  std::fprintf(stderr, "PE %d: %s: %s\n", my_pe(), what, hipGetErrorString(error));
  shmem_global_exit(1);
}

inline void synchronize() { must(hipDeviceSynchronize(), "hipDeviceSynchronize"); }

// Before others read stores of this PE's kernels, and before it reads those of theirs.
inline void meet_after_kernels() {
  synchronize();
  shmem_barrier_all();
}

// How many rounds a kernel does in which PEs wait for each other: `many`, or few where a step is
// slow. That is if PEs share a GPU, since their kernels then take turns of milliseconds (but not
// under NVIDIA's MPS), or if a checker slows each step (MESHMEM_DEVICE_TEST_SHORT).
inline int rounds(int many) {
  const int few = many / 250 + 2;
  if (std::getenv("MESHMEM_DEVICE_TEST_SHORT")) return few;
#if defined(MESHMEM_TARGET_IS_CPU)
  return many;
#else
  if (std::getenv("CUDA_MPS_PIPE_DIRECTORY")) return many;
  int devices = 1;
  must(hipGetDeviceCount(&devices), "hipGetDeviceCount");
  return n_pes() <= devices ? many : few;
#endif
}

// Starts a kernel on a stream; its arguments are converted to its parameters.
template <typename... Parameters, typename... Arguments>
void launch_on(hipStream_t stream, void (*kernel)(Parameters...), unsigned blocks, unsigned threads,
               Arguments... arguments) {
  hipLaunchKernelGGL(kernel, dim3(blocks), dim3(threads), 0, stream,
                     static_cast<Parameters>(arguments)...);
  must(hipGetLastError(), "launch of a kernel");
}
template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), unsigned blocks, unsigned threads,
            Arguments... arguments) {
  launch_on(nullptr, kernel, blocks, threads, arguments...);
}

// Starts a kernel all of whose blocks are on the device together.
template <typename T>
struct Given {
  using Type = T;
};
template <typename... Parameters>
void launch_grid_on(hipStream_t stream, void (*kernel)(Parameters...), dim3 blocks,
                    unsigned threads, typename Given<Parameters>::Type... arguments) {
  void* addresses[] = {static_cast<void*>(&arguments)...};
  must(hipLaunchCooperativeKernel(kernel, blocks, dim3(threads), addresses, 0, stream),
       "launch of a cooperative kernel");
}

// The threads of a wave of this device.
inline unsigned wave_size() {
  int device = 0, threads = 0;
  must(hipGetDevice(&device), "hipGetDevice");
  must(hipDeviceGetAttribute(&threads, hipDeviceAttributeWarpSize, device),
       "hipDeviceGetAttribute");
  return static_cast<unsigned>(threads);
}

template <typename E>
void upload(E* to, const std::vector<E>& values) {
  must(hipMemcpy(to, values.data(), values.size() * sizeof(E), hipMemcpyHostToDevice),
       "hipMemcpy to the device");
  synchronize();  // a copy from pageable memory may still be under way
}
template <typename E>
std::vector<E> download(const E* from, size_t n) {
  std::vector<E> values(n);
  must(hipMemcpy(values.data(), from, n * sizeof(E), hipMemcpyDeviceToHost),
       "hipMemcpy from the device");
  return values;
}

// An array in the symmetric heap of the device. Making and dropping one are collective.
template <typename E>
class DeviceArray {
 public:
  explicit DeviceArray(size_t size)
      : data_(static_cast<E*>(
            shmem_malloc_with_hints((size ? size : 1) * sizeof(E), SHMEMX_MALLOC_DEVICE))),
        size_(size) {
    if (data_) return;
    std::fprintf(stderr, "PE %d: no %zu bytes of symmetric device memory\n", my_pe(),
                 size * sizeof(E));
    shmem_global_exit(1);
  }
  DeviceArray(size_t size, E value) : DeviceArray(size) { fill_with(value); }
  explicit DeviceArray(const std::vector<E>& values) : DeviceArray(values.size()) {
    upload(values);
  }
  ~DeviceArray() {
    synchronize();
    shmem_free(data_);
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  E* data() { return data_; }
  size_t size() const { return size_; }

  void upload(const std::vector<E>& values) { meshmem::upload(data_, values); }
  void fill_with(E value) { upload(std::vector<E>(size_, value)); }
  std::vector<E> download() const { return meshmem::download(data_, size_); }
  E first() const { return download()[0]; }

 private:
  E* data_;
  size_t size_;
};

template <typename E>
void expect_equal(const char* what, const std::vector<E>& found, const std::vector<E>& expected) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  expect_each(what, found.data(), found.size(), [&](size_t i) { return expected[i]; });
}

}  // namespace meshmem

#endif
