// SPDX-License-Identifier: Apache-2.0
//
// Copies, stores and atomics with an end in device memory, in the order of one stream. The device
// does the work, except for small stores that the processor may do (HostStores).
//
// Work that needs no answer is *issued* and left to the stream; fence and quiet complete it. Other
// work has an answer, or a source that the caller may reuse, so the caller waits for it.
// Invariant: the processor stores only while no stream has work, and a stream gets work only once
// those stores have arrived. Host code touches device memory in no other way. pending_work counts
// issued work. Called by collectives/ and api/.
#ifndef MESHMEM_GPU_DEVICE_TRANSFER_HPP_
#define MESHMEM_GPU_DEVICE_TRANSFER_HPP_

#include <hip/hip_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

#include "base/waiting/pending_work.hpp"
#include "device/launch.hpp"
#include "gpu/device_lane.hpp"
#include "gpu/device_segments.hpp"
#include "gpu/hip_error.hpp"

namespace meshmem {

class DeviceTransfer {
 public:
  void open(int device);
  bool is_open() const { return stream_ != nullptr; }
  int device() const { return device_; }
  hipStream_t stream() const { return stream_; }  // the one that keeps the order

  // Returns when all work that any thread has issued before is done.
  void complete(const char* routine);

  void issue_copy(void* to, const void* from, std::size_t bytes);
  void copy(void* to, const void* from, std::size_t bytes, const char* routine);
  // Pass device memory through pinned pieces of the host. copy_out() calls put(piece, offset,
  // bytes) for each piece while the next one is copied. copy_in() calls get(piece, offset, bytes)
  // to fill each piece while the one before is copied.
  using Pass = std::function<void(std::byte* piece, std::size_t offset, std::size_t bytes)>;
  void copy_out(const void* from, std::size_t bytes, const Pass& put, const char* routine);
  void copy_in(void* to, std::size_t bytes, const Pass& get, const char* routine);
  void clear(void* memory, std::size_t bytes, const char* routine);  // of this device
  // A store or a load has 1, 2, 4, 8 or 16 bytes; with up to 8 it is one access.
  void issue_store(const DevicePlace& there, const void* value, std::size_t bytes);
  // Stores by the processor. Returns false, and stores nothing, if the processor may not store
  // there or not that much, or if a stream may have work.
  bool try_store(std::byte* there, const void* value, std::size_t bytes);
  void load(void* value, const DevicePlace& there, std::size_t bytes, const char* routine);
  void copy_strided(const device::StridedCopy& copy, const char* routine);
  void issue_signal(const DevicePlace& there, std::uint64_t value, int sig_op);
  void issue_atomic(const DevicePlace& there, device::AtomicOp op, std::size_t bytes,
                    std::uint64_t operand, std::uint64_t condition);
  std::uint64_t fetch_atomic(const DevicePlace& there, device::AtomicOp op, std::size_t bytes,
                             std::uint64_t operand, std::uint64_t condition, const char* routine);

  // Returns a stream, events and pinned memory for one call.
  using Lane = DeviceLanes::Lane;
  Lane lane() { return lanes_.take(); }

  // Calls launch(stream) with the stream of a lane, and waits until that work is done. `what` names
  // the work.
  template <typename Launch>
  void run(const char* what, const Launch& launch) {
    const Lane lane_of_call = lane();
    {
      const OnDevice current(device_);
      check(launch(lane_of_call->stream()), "start the kernel of {}", what);
    }
    lane_of_call->wait(what);
  }

 private:
  void count_issued();
  void begin(void* to, const void* from, std::size_t bytes);
  void begin_piece(Lane& lane, void* to, const void* from, std::size_t bytes);
  // The stream, once the processor's stores have arrived.
  hipStream_t own_stream();
  // The same for a kernel that uses `there`: the ordered stream, or a stream of the place's own
  // device.
  hipStream_t stream_for(const DevicePlace& there);

  int device_ = -1;
  hipStream_t stream_ = nullptr;
  PendingWork on_streams_;  // the part of pending_work that is on these streams
  DeviceLanes lanes_;
  std::mutex mutex_;
  std::map<int, hipStream_t> far_streams_;  // of devices that this one cannot reach
};

// Returns when nothing is left to do on any stream of the device. There is no timeout.
void wait_for_device(int device, const char* routine);

// Copies `bytes` bytes of symmetric device memory to the same place of PE `pe`, on the stream.
hipError_t copy_to_pe(std::byte* address, std::size_t bytes, int pe, hipStream_t stream);

// Write memory that kernels read: the tables of DeviceState, and the states of modules. Both return
// when that is done, without waiting for the program's kernels. Where device memory is host memory
// they use no stream, since programs may make thousands of teams.
void write_for_kernels(void* dest, const void* source, std::size_t bytes);
void clear_for_kernels(void* memory, std::size_t bytes);

// Lives for ever, as streams must.
DeviceTransfer& device_transfer();

}  // namespace meshmem

#endif  // MESHMEM_GPU_DEVICE_TRANSFER_HPP_
