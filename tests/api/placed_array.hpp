// SPDX-License-Identifier: Apache-2.0
//
// Symmetric arrays in every kind of memory that a routine takes: the host heap, the device heap,
// and a buffer of the program's own that it has registered.
// Invariant: the test reads and writes them by the GPU's runtime, never through the library that is
// tested. Included by the tests of device memory.
#ifndef MESHMEM_TESTS_API_PLACED_ARRAY_HPP
#define MESHMEM_TESTS_API_PLACED_ARRAY_HPP

#include <hip/hip_runtime_api.h>
#include <shmemx.h>

#include <string_view>
#include <vector>

#include "symmetric_array.hpp"

namespace meshmem {

enum class Place { host, device, registered };
constexpr Place kPlaces[] = {Place::host, Place::device, Place::registered};

// Sanitizers slow kernels down a hundred times, and their reports do not depend on the place, the
// type or the number of rounds. So under them some of each stand for all.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// One type that kernels have, one that they do not have.
inline bool is_left_out(std::string_view type) {
  return kSanitized && type != "long" && type != "longdouble";
}

inline const char* name_of(Place place) {
  return place == Place::host ? "host" : place == Place::device ? "device" : "registered";
}

inline void expect_success(hipError_t error) { EXPECT_EQ(error, hipSuccess); }

// Making and dropping one are collective.
template <typename E>
class PlacedArray {
 public:
  PlacedArray(Place place, size_t size) : place_(place), size_(size) {
    const size_t bytes = size * sizeof(E);
    if (place == Place::registered) {
      void* memory = nullptr;
      expect_success(hipMalloc(&memory, bytes));
      data_ = static_cast<E*>(memory);
      EXPECT_EQ(shmemx_buffer_register(data_, bytes), 0);
    } else {
      data_ = static_cast<E*>(shmem_malloc_with_hints(
          bytes, place == Place::host ? SHMEMX_MALLOC_HOST : SHMEMX_MALLOC_DEVICE));
    }
    EXPECT_NE(data_, nullptr) << "no " << bytes << " bytes of " << name_of(place) << " memory";
  }
  ~PlacedArray() {
    if (place_ == Place::registered) {
      EXPECT_EQ(shmemx_buffer_unregister(data_), 0);
      expect_success(hipFree(data_));
    } else {
      shmem_free(data_);
    }
  }
  PlacedArray(const PlacedArray&) = delete;
  PlacedArray& operator=(const PlacedArray&) = delete;

  operator E*() { return data_; }
  E* data() { return data_; }
  size_t size() const { return size_; }
  Place place() const { return place_; }

  void write(const std::vector<E>& values) {
    expect_success(hipMemcpy(data_, values.data(), values.size() * sizeof(E), hipMemcpyDefault));
  }
  std::vector<E> read() {
    std::vector<E> values(size_);
    expect_success(hipMemcpy(values.data(), data_, size_ * sizeof(E), hipMemcpyDefault));
    return values;
  }
  E read_first() { return read()[0]; }

 private:
  Place place_;
  E* data_;
  size_t size_;
};

// Runs `check` for all pairs of places that are not both the host's.
template <typename Check>
void on_all_places(const Check& check) {
  for (const Place dest : kPlaces) {
    for (const Place source : kPlaces) {
      if (dest == Place::host && source == Place::host) continue;
      const bool stands_for_all = (dest == Place::device && source == Place::device) ||
                                  (dest == Place::host && source == Place::registered);
      if (kSanitized && !stands_for_all) continue;
      SCOPED_TRACE(testing::Message() << name_of(source) << " to " << name_of(dest));
      check(dest, source);
    }
  }
}

}  // namespace meshmem

#endif
