// SPDX-License-Identifier: Apache-2.0
//
// A stream of the test's, what its device is, and bytes that tell where they come from.
#ifndef MESHMEM_TESTS_API_STREAM_HPP_
#define MESHMEM_TESTS_API_STREAM_HPP_

#include <string>

#include "placed_array.hpp"

namespace meshmem {

class Stream {
 public:
  Stream() { expect_success(hipStreamCreateWithFlags(&stream_, hipStreamNonBlocking)); }
  ~Stream() { expect_success(hipStreamDestroy(stream_)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator shmemx_stream_t() const { return stream_; }
  hipStream_t hip() const { return stream_; }
  void finish() { expect_success(hipStreamSynchronize(stream_)); }

 private:
  hipStream_t stream_ = nullptr;
};

inline std::string name_of_device() {
  hipDeviceProp_t properties;
  expect_success(hipGetDeviceProperties(&properties, 0));
  return properties.name;
}
inline bool is_on_gpu() { return name_of_device() != "meshmem CPU device"; }
inline bool is_on_emulated_gpu() { return name_of_device().starts_with("meshmem emulated"); }

// Byte i of what PE `pe` has.
inline unsigned char byte_of(size_t pe, size_t i) {
  return static_cast<unsigned char>(scramble(pe << 40 | i >> 3) >> i % 8 * 8);
}

}  // namespace meshmem

#endif  // MESHMEM_TESTS_API_STREAM_HPP_
