// SPDX-License-Identifier: Apache-2.0
//
// The way to far PEs, whose memory is not mapped here: what one_sided.cpp and the collectives
// between nodes ask for. network_transport implements it. A job whose PEs are all near has none.
// Invariant: no fast path comes here. A place is a segment and an offset, never an address: the
// target checks its bounds. pending_work counts issued operations until complete() returns.
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

// The control segment holds what the library itself shares: team areas, the list of active sets.
// Device memory is one segment, in which an offset says which heap or buffer it is of.
enum class RemoteSegment { heap, statics, control, device };

// Of the device segment with this number: 0 is the device heap, the others are registered buffers.
inline constexpr int kDeviceOffsetBits = 48;
inline std::size_t device_offset(int number, std::size_t offset) {
  return (static_cast<std::size_t>(number) << kDeviceOffsetBits) + offset;
}

// An atomic operation of 4 or 8 bytes, for whoever executes it: a kernel, or the other side. One
// that fetches nothing answers 0.
struct AtomicRequest {
  device::AtomicOp op;
  std::size_t bytes;
  std::uint64_t operand;
  std::uint64_t condition;
  bool fetches;
};

struct RemotePlace {
  int pe;  // of the world
  RemoteSegment segment;
  std::size_t offset;
};

// A PE may send another one so much of a collective's messages before that one receives the first
// of them; with more it may wait for that. Each message counts kMessageCost beside its bytes. Where
// all PEs send before they receive, they must stay within it, or they wait for each other forever.
inline constexpr std::size_t kMostUnreceived = 5 << 20;
inline constexpr std::size_t kMessageCost = 128;

// How a signal is to change; it is of the PE that gets the data.
struct SignalUpdate {
  RemoteSegment segment;
  std::size_t offset;
  device::AtomicOp op;  // set or add
  std::uint64_t value;
};

// The operations that had been issued at some moment. Its user looks now and then whether they are
// done, and does other things meanwhile. A look makes progress.
class CompletionMark {
 public:
  virtual ~CompletionMark() = default;
  virtual bool is_done() = 0;
};

// Sources and dests of this PE are in host memory; what is in device memory, one_sided.cpp stages.
class Transport {
 public:
  virtual ~Transport() = default;

  // The source may be used again when put() returns; the data is at the target after complete().
  virtual void put(const RemotePlace& dest, const void* source, std::size_t bytes) = 0;
  virtual void get(void* dest, const RemotePlace& source, std::size_t bytes) = 0;
  // Until complete() returns, the source must stay as it is, and dest is not filled.
  virtual void put_nbi(const RemotePlace& dest, const void* source, std::size_t bytes) = 0;
  virtual void get_nbi(void* dest, const RemotePlace& source, std::size_t bytes) = 0;
  // As put(); whoever sees the signal changed sees the data.
  virtual void put_signal(const RemotePlace& dest, const void* source, std::size_t bytes,
                          const SignalUpdate& signal) = 0;
  // One that fetches has its answer when it returns; another is done after complete().
  virtual std::uint64_t atomic(const RemotePlace& dest, const AtomicRequest& request) = 0;
  // One that fetches; *before is not filled until complete() returns.
  virtual void fetch_nbi(const RemotePlace& dest, const AtomicRequest& request,
                         std::uint64_t* before) = 0;

  // The target sees earlier operations before later ones.
  virtual void order() = 0;
  // All that any thread has issued before is done at its target.
  virtual void complete() = 0;
  // The same without waiting.
  virtual std::unique_ptr<CompletionMark> mark() = 0;

  // A message for the collectives, which the other side takes by receive(). Any length, 0 too.
  virtual void send(int pe, const MessageKey& key, const void* data, std::size_t bytes) = 0;
  // From now on, what comes of such a message goes straight to dest; receive() with the same dest
  // follows. A sink lasts until that has returned.
  virtual void expect(int pe, const MessageKey& key, const MessageDest& dest) = 0;
  // Waits until dest has all of the message. `what` names it in the line for a timeout.
  virtual void receive(int pe, const MessageKey& key, const MessageDest& dest,
                       const std::function<std::string()>& what) = 0;

  // Takes in what has arrived. Called by all who wait.
  virtual void progress() = 0;
  // The same by who serves kernels: one of them may be about to answer a signal.
  virtual void progress_for_kernels() = 0;
  // Says that this thread takes in messages soon, so that no other comes to take turns with it.
  virtual void will_progress() = 0;
};

// nullptr where all PEs are near. Start-up sets it, before any thread waits. It lives until the
// process ends, since a thread may still wait.
inline constinit Transport* the_transport = nullptr;
inline Transport* transport() { return the_transport; }

}  // namespace meshmem

#endif  // MESHMEM_TRANSPORT_TRANSPORT_HPP_
