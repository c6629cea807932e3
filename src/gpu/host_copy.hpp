// SPDX-License-Identifier: Apache-2.0
//
// A copy in host memory of the device memory that a wait looks at, made anew for each look.
// Invariant: making a copy does not wait behind other work of the device, which may wait for this
// PE. Called by the waits of core/, and by alltoallv for its arrays.
#ifndef MESHMEM_GPU_HOST_COPY_HPP_
#define MESHMEM_GPU_HOST_COPY_HPP_

#include <cstddef>
#include <vector>

#include "base/status/slow_ways.hpp"
#include "gpu/device_transfer.hpp"

namespace meshmem {

// A copy in host memory of an array of the caller, which may be in any memory.
template <typename T>
class HostCopy {
 public:
  HostCopy(const char* routine, const T* source, std::size_t count)
      : routine_(routine), source_(source), host_(count) {
    note_slow_way(SlowWay::looks_by_copies, routine);
  }
  const T* data() const { return host_.data(); }
  const T* source() const { return source_; }
  void refresh() {
    if (host_.empty()) return;
    const DeviceTransfer::Lane lane = device_transfer().lane();  // not behind other work
    lane->fetch(host_.data(), source_, host_.size() * sizeof(T), routine_);
  }

 private:
  const char* routine_;
  const T* source_;
  std::vector<T> host_;
};

template <typename T>
[[gnu::cold, gnu::noinline]] T load_from_device(const char* routine, const T* variable) {
  HostCopy<T> copy(routine, variable, 1);
  copy.refresh();
  return *copy.data();
}

}  // namespace meshmem

#endif  // MESHMEM_GPU_HOST_COPY_HPP_
