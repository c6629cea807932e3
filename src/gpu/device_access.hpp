// SPDX-License-Identifier: Apache-2.0
//
// The work on device memory that other nodes ask for. The threads of transports submit it, since
// they must not wait for a device. Transports know only this interface and nothing of HIP.
// Invariant: submit() calls no device and waits for nothing. Copies are done in the order in which
// they were submitted, and so are operations; a copy and an operation are done in any order.
#ifndef MESHMEM_GPU_DEVICE_ACCESS_HPP_
#define MESHMEM_GPU_DEVICE_ACCESS_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "device/operations.hpp"

namespace meshmem {

// One write, read or operation. The object stays at its address from submit() until the work is
// done.
struct DeviceWork {
  enum class Kind { write, read, operation };
  Kind kind = Kind::operation;
  std::byte* there = nullptr;  // in device memory
  std::size_t bytes = 0;
  std::uint32_t owner = 0;  // the index on this node of the PE whose memory it is

  // Of a write: the bytes to be written, in memory of take_room(). Of a read: the bytes read, from
  // when it is done until release().
  std::byte* data = nullptr;
  std::unique_ptr<std::byte[]> own_data;  // the data of a write that has no pinned piece

  // Of an operation: an atomic of 4 or 8 bytes, or the store of 1, 2, 4 or 8 (set).
  device::AtomicOp op = device::AtomicOp::set;
  std::uint64_t operand = 0, condition = 0;
  std::uint64_t before = 0;  // the old value, once it is done

  // Stored with release: a thread that sees it by an acquire also sees what the work did and read.
  std::atomic<bool> is_done{false};

  bool is_operation() const { return kind == Kind::operation; }
};

class DeviceAccess {
 public:
  static constexpr std::size_t kPieceBytes = 256 * 1024;  // the most of a write or a read

  virtual ~DeviceAccess() = default;

  // Gives `work` memory for the data of a write of `bytes` bytes.
  virtual void take_room(DeviceWork& work, std::size_t bytes) = 0;
  virtual void submit(DeviceWork& work) = 0;
  // Takes back the memory of a read, whose data the caller has used.
  virtual void release(DeviceWork& work) = 0;

  // Gives submitted work to the device, and marks the work that the device has done; never waits
  // for it. Called by all threads that wait, without a lock. Returns false if there was nothing to
  // do, or if another thread does it.
  virtual bool drive() = 0;
};

}  // namespace meshmem

#endif  // MESHMEM_GPU_DEVICE_ACCESS_HPP_
