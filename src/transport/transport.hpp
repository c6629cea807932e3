// SPDX-License-Identifier: Apache-2.0
//
// The interface by which data reaches far PEs, whose memory is not mapped here. network_transport
// implements it. A job whose PEs are all near has none.
// Invariant: no fast path calls it. A place is a segment and an offset, never an address, and the
// target checks its bounds. pending_work counts issued operations until complete() returns.
// Called by one_sided/, the proxy, and the collectives between nodes.
#ifndef MESHMEM_TRANSPORT_TRANSPORT_HPP_
#define MESHMEM_TRANSPORT_TRANSPORT_HPP_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "device/operations.hpp"
#include "transport/mailbox.hpp"

namespace meshmem {

// The control segment holds what the library itself shares: team areas, the list of active sets,
// and the words of PEs that join a team.
// All device memory is one segment, whose offsets device_offset() makes.
enum class RemoteSegment { heap, statics, control, device };

// An offset in RemoteSegment::device. Its upper bits are `number`: 0 is the device heap, others are
// registered buffers. `offset` counts from the beginning of that heap or buffer.
inline constexpr int kDeviceOffsetBits = 48;
inline std::size_t device_offset(int number, std::size_t offset) {
  return (static_cast<std::size_t>(number) << kDeviceOffsetBits) + offset;
}

// An atomic operation on 4 or 8 bytes. A kernel, or the process at the target, executes it. If it
// fetches nothing, its result is 0.
struct AtomicRequest {
  device::AtomicOp op;
  std::size_t bytes;
  std::uint64_t operand;
  std::uint64_t condition;
  bool fetches;
};

struct RemotePlace {
  int pe;  // its number in the world
  RemoteSegment segment;
  std::size_t offset;
};

// How many bytes of collectives' messages a PE can send another PE that has not received any of
// them yet. Each message counts kMessageCost bytes more than its length. Beyond that, send() may
// wait. A collective in which all PEs send before they receive must stay below, or it hangs.
inline constexpr std::size_t kMostUnreceived = 5 << 20;
inline constexpr std::size_t kMessageCost = 128;

// The change of a signal of the PE that gets the data.
struct SignalUpdate {
  RemoteSegment segment;
  std::size_t offset;
  device::AtomicOp op;  // set or add
  std::uint64_t value;
};

// The operations that had been issued when mark() was called. Its user asks now and then whether
// they are done, and does other things meanwhile. is_done() also makes progress.
class CompletionMark {
 public:
  virtual ~CompletionMark() = default;
  virtual bool is_done() = 0;
};

// This PE's sources and dests are in host memory. one_sided/ stages those in device memory.
class Transport {
 public:
  virtual ~Transport() = default;

  // The source may be used again when put() returns; the data is at the target after complete().
  virtual void put(const RemotePlace& dest, const void* source, std::size_t bytes) = 0;
  virtual void get(void* dest, const RemotePlace& source, std::size_t bytes) = 0;
  // Until complete() returns, the source must not change, and dest may not be filled yet.
  virtual void put_nbi(const RemotePlace& dest, const void* source, std::size_t bytes) = 0;
  virtual void get_nbi(void* dest, const RemotePlace& source, std::size_t bytes) = 0;
  // As put(). A PE that sees the signal's new value also sees the data.
  virtual void put_signal(const RemotePlace& dest, const void* source, std::size_t bytes,
                          const SignalUpdate& signal) = 0;
  // A fetching atomic returns the value before. Any other is done after complete().
  virtual std::uint64_t atomic(const RemotePlace& dest, const AtomicRequest& request) = 0;
  // A fetching atomic. *before has the value before after complete().
  virtual void fetch_nbi(const RemotePlace& dest, const AtomicRequest& request,
                         std::uint64_t* before) = 0;

  // The target sees earlier operations before later ones.
  virtual void order() = 0;
  // Returns when the operations that any thread issued before are done at their targets.
  virtual void complete() = 0;
  // Returns a mark for the operations that any thread issued before, for a caller that does not
  // want to wait in complete().
  virtual std::unique_ptr<CompletionMark> mark() = 0;

  // Sends a collective's message, which the other PE takes by receive(). The length may be 0.
  virtual void send(int pe, const MessageKey& key, const void* data, std::size_t bytes) = 0;
  // From now on, arriving data of this message goes straight to dest. The caller then calls
  // receive() with the same dest, and keeps a sink alive until receive() has returned.
  virtual void expect(int pe, const MessageKey& key, const MessageDest& dest) = 0;
  // Waits until dest has the whole message. `what` names the message in the line for a timeout.
  virtual void receive(int pe, const MessageKey& key, const MessageDest& dest,
                       const std::function<std::string()>& what) = 0;

  // Handles messages that have arrived. Every thread that waits calls it.
  virtual void progress() = 0;
  // The same for the proxy. Acknowledgements wait a moment for a kernel's answer to a signal.
  virtual void progress_for_kernels() = 0;
  // Announces that this thread will call progress() soon, so that the network's own thread does not
  // compete with it.
  virtual void will_progress() = 0;
};

// nullptr where all PEs are near. Start-up sets it, before any thread waits. It lives until the
// process ends, since a thread may still wait.
inline constinit Transport* the_transport = nullptr;
inline Transport* transport() { return the_transport; }

}  // namespace meshmem

#endif  // MESHMEM_TRANSPORT_TRANSPORT_HPP_
