// SPDX-License-Identifier: Apache-2.0
//
// See device_lane.hpp. A thread takes a free lane, and makes one only if all lanes are in use.
// Invariant: a wait polls an event, so that it can end the job, with a line, when MESHMEM_TIMEOUT
// has passed.
#include "gpu/device_lane.hpp"

#include "base/waiting/wait.hpp"
#include "gpu/device_target.hpp"
#include "gpu/hip_error.hpp"

namespace meshmem {

DeviceLane::DeviceLane(int device) : device_(device) {
  const OnDevice current(device_);
  const RelaxedCapture allowed;
  pinned_ = pin_memory(kPinnedBytes);
}

hipStream_t DeviceLane::stream() {
  if (!stream_) {
    const OnDevice current(device_);
    const RelaxedCapture allowed;
    check(make_library_stream(&stream_), "make a stream on device {}", device_);
  }
  return stream_;
}

std::byte* DeviceLane::piece() {
  if (!piece_) {
    const OnDevice current(device_);
    const RelaxedCapture allowed;
    piece_ = pin_memory(kPieceBytes, hipHostMallocPortable);
  }
  return piece_;
}

void DeviceLane::mark(hipStream_t stream, int device) {
  const RelaxedCapture allowed;
  const OnDevice current(device);
  hipEvent_t& done = done_[device];
  if (!done) done = make_event(device);
  check(hipEventRecord(done, stream), "record an event on device {}", device);
  marked_ = done;
  marked_device_ = device;
}

void DeviceLane::wait_for_mark(const char* routine) {
  const RelaxedCapture allowed;
  const hipEvent_t done = marked_;
  const int device = marked_device_;
  hipError_t state = hipErrorNotReady;
  wait_until_ready(
      [&] {
        state = state_of(done);
        return state != hipErrorNotReady;
      },
      [&] { return fmt::format("copies or kernels on device {} in {}", device, routine); });
  check(state, "run {} on device {}", routine, device);
}

void DeviceLane::begin_copy(void* to, const void* from, std::size_t bytes) {
  const OnDevice current(device_);
  const RelaxedCapture allowed;
  check(hipMemcpyAsync(to, from, bytes, hipMemcpyDefault, stream()), "copy {} bytes", bytes);
}

void DeviceLane::fetch(void* to, const void* from, std::size_t bytes, const char* routine) {
  begin_copy(to, from, bytes);
  wait(routine);
}

void DeviceLane::wait_for(hipStream_t stream, int device, const char* routine) {
  mark(stream, device);
  wait_for_mark(routine);
}

DeviceLanes::Lane DeviceLanes::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      DeviceLane* const lane = free_.back().release();
      free_.pop_back();
      return {lane, GiveBack{this}};
    }
  }
  return {new DeviceLane(device_), GiveBack{this}};
}

void DeviceLanes::GiveBack::operator()(DeviceLane* lane) const {
  const std::lock_guard lock(lanes->mutex_);
  lanes->free_.emplace_back(lane);
}

}  // namespace meshmem
