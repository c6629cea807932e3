// SPDX-License-Identifier: Apache-2.0
//
// Plain memory of the device whose elements before and behind those of a test must not change.
#ifndef MESHMEM_TESTS_DEVICE_GUARDED_BUFFER_HPP_
#define MESHMEM_TESTS_DEVICE_GUARDED_BUFFER_HPP_

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "drawn_values.hpp"

namespace meshmem {

// The elements from `offset` on are used.
template <typename E>
class GuardedBuffer {
 public:
  GuardedBuffer(size_t n, size_t offset) : size_(n + offset + 1), offset_(offset) {
    must(hipMalloc(&data_, size_ * sizeof(E)), "hipMalloc");
    upload(data_, std::vector<E>(size_, guard()));
  }
  ~GuardedBuffer() { must(hipFree(data_), "hipFree"); }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  operator E*() const { return data_ + offset_; }
  void set(const std::vector<E>& values) { upload(data_ + offset_, values); }
  std::vector<E> get() const {
    std::vector<E> all = download(data_, size_);
    for (size_t i = 0; i < offset_; ++i) EXPECT_EQ(in_double(all[i]), in_double(guard()));
    EXPECT_EQ(in_double(all.back()), in_double(guard())) << "behind the end";
    return {all.begin() + static_cast<std::ptrdiff_t>(offset_), all.end() - 1};
  }

 private:
  static E guard() { return E(77.0F); }
  E* data_ = nullptr;
  size_t size_, offset_;
};

}  // namespace meshmem

#endif  // MESHMEM_TESTS_DEVICE_GUARDED_BUFFER_HPP_
