// SPDX-License-Identifier: Apache-2.0
//
// The lane by which one thread waits for devices: an event for each, a pinned page for answers, and
// a stream of its own. So its work does not wait behind that of other threads.
// Invariant: a lane belongs to one call at a time. On a shared stream, a collective or a poll could
// wait for work that comes later on the same stream.
#ifndef MESHMEM_GPU_DEVICE_LANE_HPP_
#define MESHMEM_GPU_DEVICE_LANE_HPP_

#include <hip/hip_runtime_api.h>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace meshmem {

class DeviceLane {
 public:
  static constexpr std::size_t kPinnedBytes = 64 * 1024;

  explicit DeviceLane(int device);
  DeviceLane(const DeviceLane&) = delete;
  DeviceLane& operator=(const DeviceLane&) = delete;

  void* pinned() const { return pinned_; }
  hipStream_t stream();  // made when it is first asked for

  // Returns when the stream, which is of `device`, has done all that it was given so far. `routine`
  // is for the message when MESHMEM_TIMEOUT has passed.
  void wait_for(hipStream_t stream, int device, const char* routine);
  // The two halves of wait_for(). mark() records the lane's event for `device` on the stream, and
  // wait_for_mark() waits for the event recorded last.
  void mark(hipStream_t stream, int device);
  void wait_for_mark(const char* routine);
  // Returns kPieceBytes of pinned memory for data on its way through the host; made when it is
  // first asked for.
  static constexpr std::size_t kPieceBytes = 256 * 1024;
  std::byte* piece();
  // Begins a copy on the lane's stream, in any direction.
  void begin_copy(void* to, const void* from, std::size_t bytes);
  // Copies to host memory without waiting behind other work. Returns when the data is there.
  void fetch(void* to, const void* from, std::size_t bytes, const char* routine);
  void wait(const char* routine) { wait_for(stream(), device_, routine); }

 private:
  int device_;
  std::byte* pinned_ = nullptr;
  std::byte* piece_ = nullptr;
  hipEvent_t marked_ = nullptr;
  int marked_device_ = -1;
  std::map<int, hipEvent_t> done_;  // by device, whose streams alone can record it
  hipStream_t stream_ = nullptr;
};

// Lanes that no call uses now. They live for ever: calls may be under way while the process ends.
class DeviceLanes {
 public:
  struct GiveBack {
    DeviceLanes* lanes;
    void operator()(DeviceLane* lane) const;
  };
  using Lane = std::unique_ptr<DeviceLane, GiveBack>;  // for one call; given back at its end

  void open(int device) { device_ = device; }
  Lane take();

 private:
  int device_ = -1;
  std::mutex mutex_;
  std::vector<std::unique_ptr<DeviceLane>> free_;
};

}  // namespace meshmem

#endif  // MESHMEM_GPU_DEVICE_LANE_HPP_
