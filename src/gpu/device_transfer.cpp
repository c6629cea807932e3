// SPDX-License-Identifier: Apache-2.0
//
// Puts work on the ordered stream, or lets the processor store while no stream has work. Atomics
// and stores to the memory of a device that this PE's own cannot reach run on a stream of that
// device.
// Invariant: work is counted as issued after the stream has it, and as completed after an event
// that was recorded behind it, so quiet never returns too early.
#include "gpu/device_transfer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "gpu/device_target.hpp"
#include "gpu/hip_error.hpp"
#include "gpu/host_stores.hpp"
#include "shmem.h"

namespace meshmem {

namespace {

device::ElemType word_type(std::size_t bytes) {
  return bytes == 4 ? device::ElemType::u32 : device::ElemType::u64;
}

device::Scalar scalar(std::uint64_t value) { return {{value, 0}}; }

}  // namespace

DeviceTransfer& device_transfer() {
  static DeviceTransfer& instance = *new DeviceTransfer;
  return instance;
}

void DeviceTransfer::open(int device) {
  if (stream_) return;
  device_ = device;
  lanes_.open(device);
  const OnDevice current(device);
  check(make_library_stream(&stream_), "make a stream on device {}", device);
}

void DeviceTransfer::count_issued() {
  on_streams_.count_issued();
  pending_work.count_issued();
}

void DeviceTransfer::complete(const char* routine) {
  host_stores().complete();
  const std::uint64_t issued = on_streams_.issued.load(std::memory_order_acquire);
  if (!on_streams_.is_under_way()) return;
  std::vector<std::pair<int, hipStream_t>> streams{{device_, stream_}};
  {
    const std::lock_guard lock(mutex_);
    streams.insert(streams.end(), far_streams_.begin(), far_streams_.end());
  }
  const Lane waiting = lane();
  for (const auto& [device, stream] : streams) waiting->wait_for(stream, device, routine);
  on_streams_.note_completed(issued);
}

hipStream_t DeviceTransfer::own_stream() {
  host_stores().complete();
  return stream_;
}

hipStream_t DeviceTransfer::stream_for(const DevicePlace& there) {
  const hipStream_t own = own_stream();
  if (there.device == device_) return own;
  const std::lock_guard lock(mutex_);
  hipStream_t& stream = far_streams_[there.device];
  if (!stream) {
    const RelaxedCapture allowed;
    check(make_library_stream(&stream), "make a stream on device {}", there.device);
  }
  return stream;
}

void DeviceTransfer::begin(void* to, const void* from, std::size_t bytes) {
  const OnDevice current(device_);
  const RelaxedCapture allowed;
  check(hipMemcpyAsync(to, from, bytes, hipMemcpyDefault, own_stream()), "copy {} bytes", bytes);
}

void DeviceTransfer::issue_copy(void* to, const void* from, std::size_t bytes) {
  begin(to, from, bytes);
  count_issued();
}

void DeviceTransfer::copy(void* to, const void* from, std::size_t bytes, const char* routine) {
  begin(to, from, bytes);
  lane()->wait_for(stream_, device_, routine);
}

void DeviceTransfer::begin_piece(Lane& lane, void* to, const void* from, std::size_t bytes) {
  begin(to, from, bytes);
  lane->mark(stream_, device_);
}

void DeviceTransfer::copy_out(const void* from, std::size_t bytes, const Pass& put,
                              const char* routine) {
  constexpr std::size_t kPiece = DeviceLane::kPieceBytes;
  Lane lanes[] = {lane(), lane()};
  const auto begin = [&](std::size_t done) {
    Lane& own = lanes[done / kPiece % 2];
    begin_piece(own, own->piece(), static_cast<const std::byte*>(from) + done,
                std::min(kPiece, bytes - done));
  };
  begin(0);
  for (std::size_t done = 0; done < bytes; done += kPiece) {
    Lane& own = lanes[done / kPiece % 2];
    own->wait_for_mark(routine);
    if (done + kPiece < bytes) begin(done + kPiece);
    put(own->piece(), done, std::min(kPiece, bytes - done));
  }
}

void DeviceTransfer::copy_in(void* to, std::size_t bytes, const Pass& get, const char* routine) {
  constexpr std::size_t kPiece = DeviceLane::kPieceBytes;
  Lane lanes[] = {lane(), lane()};
  for (std::size_t done = 0; done < bytes; done += kPiece) {
    Lane& own = lanes[done / kPiece % 2];
    if (done >= 2 * kPiece) own->wait_for_mark(routine);
    const std::size_t length = std::min(kPiece, bytes - done);
    get(own->piece(), done, length);
    begin_piece(own, static_cast<std::byte*>(to) + done, own->piece(), length);
  }
  lanes[0]->wait_for_mark(routine);
  if (bytes > kPiece) lanes[1]->wait_for_mark(routine);
}

void DeviceTransfer::clear(void* memory, std::size_t bytes, const char* routine) {
  const OnDevice current(device_);
  check(hipMemsetAsync(memory, 0, bytes, own_stream()), "clear {} bytes", bytes);
  lane()->wait_for(stream_, device_, routine);
}

bool DeviceTransfer::try_store(std::byte* there, const void* value, std::size_t bytes) {
  return !on_streams_.is_under_way() && host_stores().try_store(there, value, bytes);
}

void DeviceTransfer::issue_store(const DevicePlace& there, const void* value, std::size_t bytes) {
  device::Scalar scalar{};
  std::memcpy(&scalar, value, bytes);
  const OnDevice current(there.device);
  check(device::launch_store(there.address, scalar, bytes, stream_for(there)), "store {} bytes",
        bytes);
  count_issued();
}

void DeviceTransfer::load(void* value, const DevicePlace& there, std::size_t bytes,
                          const char* routine) {
  const OnDevice current(there.device);
  const hipStream_t stream = stream_for(there);
  const Lane answer = lane();
  check(device::launch_load(answer->pinned(), there.address, bytes, stream), "load {} bytes",
        bytes);
  answer->wait_for(stream, there.device, routine);
  std::memcpy(value, answer->pinned(), bytes);
}

void DeviceTransfer::copy_strided(const device::StridedCopy& copy, const char* routine) {
  const OnDevice current(device_);
  check(device::launch_strided_copy(copy, own_stream()), "copy {} blocks", copy.n_blocks);
  lane()->wait_for(stream_, device_, routine);
}

void DeviceTransfer::issue_signal(const DevicePlace& there, std::uint64_t value, int sig_op) {
  if (sig_op == SHMEM_SIGNAL_SET) {
    host_stores().complete();  // the data before it
    if (try_store(there.address, &value, sizeof value)) return;
  }
  if (there.device != device_) complete("a signal");  // the data before it is on another stream
  const OnDevice current(there.device);
  auto* word = reinterpret_cast<std::uint64_t*>(there.address);
  check(device::launch_signal(word, value, sig_op, stream_for(there)), "update a signal");
  count_issued();
}

void DeviceTransfer::issue_atomic(const DevicePlace& there, device::AtomicOp op, std::size_t bytes,
                                  std::uint64_t operand, std::uint64_t condition) {
  const OnDevice current(there.device);
  check(device::launch_atomic(op, word_type(bytes), there.address, scalar(operand),
                              scalar(condition), nullptr, stream_for(there)),
        "start an atomic operation");
  count_issued();
}

std::uint64_t DeviceTransfer::fetch_atomic(const DevicePlace& there, device::AtomicOp op,
                                           std::size_t bytes, std::uint64_t operand,
                                           std::uint64_t condition, const char* routine) {
  const OnDevice current(there.device);
  const hipStream_t stream = stream_for(there);
  const Lane answer = lane();
  check(device::launch_atomic(op, word_type(bytes), there.address, scalar(operand),
                              scalar(condition), answer->pinned(), stream),
        "start an atomic operation");
  answer->wait_for(stream, there.device, routine);
  std::uint64_t fetched = 0;
  std::memcpy(&fetched, answer->pinned(), bytes);
  return fetched;
}

void wait_for_device(int device, const char* routine) {
  const OnDevice current(device);
  const hipError_t error = hipDeviceSynchronize();
  if (error == hipErrorStreamCaptureUnsupported || error == hipErrorStreamCaptureImplicit)
    fatal("{}: a stream of device {} is being captured; end the capture first", routine, device);
  check(error, "wait for the streams of device {} in {}", device, routine);
}

void write_for_kernels(void* dest, const void* source, std::size_t bytes) {
  if constexpr (kDevicesAreProcessors)
    std::memcpy(dest, source, bytes);
  else
    device_transfer().copy(dest, source, bytes, "the tables of kernels");
}

void clear_for_kernels(void* memory, std::size_t bytes) {
  if constexpr (kDevicesAreProcessors)
    std::memset(memory, 0, bytes);
  else
    device_transfer().clear(memory, bytes, "the tables of kernels");
}

hipError_t copy_to_pe(std::byte* address, std::size_t bytes, int pe, hipStream_t stream) {
  const auto there = device_segments().find(address, bytes, pe);
  if (!there) return hipErrorInvalidDevicePointer;
  return hipMemcpyAsync(there->address, address, bytes, hipMemcpyDefault, stream);
}

}  // namespace meshmem
