// SPDX-License-Identifier: Apache-2.0
// For the tests of HIP on CPUs: device memory and streams that end with their scope, and a gate
// that holds up a stream. Invariant: every test leaves streams idle and memory freed; the process
// has four devices.
#pragma once

#include <gtest/gtest.h>
#include <hip/hip_runtime.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

// Set before main(), so before the first call of HIP reads it.
inline const bool four_devices = setenv("MESHMEM_CPU_DEVICES", "4", 1) == 0;

#define ASSERT_HIP(expression) ASSERT_EQ(expression, hipSuccess)
#define EXPECT_HIP(expression) EXPECT_EQ(expression, hipSuccess)

// Zeroed device memory for `count` values, freed at the end of its scope.
template <typename T>
class OnDevice {
 public:
  explicit OnDevice(std::size_t count) : count_(count) {
    EXPECT_HIP(hipMalloc(&data_, count * sizeof(T)));
    EXPECT_HIP(hipMemset(data_, 0, count * sizeof(T)));
  }
  ~OnDevice() { EXPECT_HIP(hipFree(data_)); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  T* get() const { return data_; }
  std::vector<T> values() const {
    std::vector<T> result(count_);
    EXPECT_HIP(hipMemcpy(result.data(), data_, count_ * sizeof(T), hipMemcpyDeviceToHost));
    return result;
  }

 private:
  const std::size_t count_;
  T* data_ = nullptr;
};

class OwnStream {
 public:
  explicit OwnStream(unsigned flags = hipStreamDefault) {
    EXPECT_HIP(hipStreamCreateWithFlags(&stream_, flags));
  }
  ~OwnStream() {
    EXPECT_HIP(hipStreamSynchronize(stream_));
    EXPECT_HIP(hipStreamDestroy(stream_));
  }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  operator hipStream_t() const { return stream_; }

 private:
  hipStream_t stream_ = nullptr;
};

// Holds up a stream from close() until open(). It opens once.
class Gate {
 public:
  void close(hipStream_t stream) { EXPECT_HIP(hipLaunchHostFunc(stream, &wait, this)); }
  void open() { open_ = true; }

 private:
  static void wait(void* self) {
    while (!static_cast<Gate*>(self)->open_) std::this_thread::yield();
  }
  std::atomic<bool> open_{false};
};
