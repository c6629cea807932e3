// SPDX-License-Identifier: Apache-2.0
//
// Records that have arrived and are not executed yet: those for device memory, and what comes
// behind them in the same flow.
// Invariant: what follows a fence is seen after all before it, and so is a record for host memory.
// An operation of the device follows all that came before it. A copy may overtake operations that
// no fence is behind, and that are elsewhere: then those of many puts with signals are one kernel.
// A parcel counts as executed when all of its records have been. All under the lock of the
// transport; nothing here waits, and no device is called.
#ifndef MESHMEM_TRANSPORT_NETWORK_HELD_HPP_
#define MESHMEM_TRANSPORT_NETWORK_HELD_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "gpu/device_access.hpp"
#include "transport/network/flow.hpp"
#include "transport/network/segments.hpp"

namespace meshmem::network {

class HeldRecords {
 public:
  // Executes a record on host memory.
  using Execute = std::function<void(Flow& from, const Record& record, const std::byte* data)>;
  void use(Execute execute) { execute_ = std::move(execute); }
  void use(DeviceAccess* device) { device_ = device; }

  // Whether one of this flow is held, so that others have to be.
  bool holds(const Flow& from) const { return !queues_.empty() && queues_.count(&from) != 0; }
  bool is_empty() const { return queues_.empty() && leaving_.empty(); }

  // A put, an atomic, a fetch or a get, whose place is there. The data is copied.
  void add(Flow& from, const Record& record, const std::byte* data, std::byte* on_device);
  // The parcel with the records so far ends, with these flags of its head.
  void end_parcel(Flow& from, std::uint8_t flags);

  // Executes what can be. False: there was nothing.
  bool advance();

 private:
  struct Held {
    Record record;                          // kind none: the end of a parcel
    std::uint8_t flags = 0;                 // of a parcel
    DeviceWork work;                        // where `work.there` says that it is for device memory
    std::unique_ptr<std::byte[]> data;      // of a put to host memory
    std::atomic<std::size_t> under_way{0};  // its answer has not left

    bool is_end() const { return record.kind == RecordKind::none; }
    bool is_for_device() const { return work.there != nullptr; }
    // Acquire: what the device has read, and what it did.
    bool is_undone_by_device() const {
      return is_for_device() && !work.is_done.load(std::memory_order_acquire);
    }
  };
  using Queue = std::deque<std::unique_ptr<Held>>;
  struct FlowQueue {
    Flow* flow = nullptr;
    Queue records;
    // How many of the first: have been given to the device, unless they are no copies; the same
    // for operations.
    std::size_t n_copies_given = 0, n_operations_given = 0;
  };

  bool advance(FlowQueue& queue);
  bool end_first(FlowQueue& queue);
  bool give_copies(FlowQueue& queue);
  bool give_operations(FlowQueue& queue);
  static bool may_be_copied(const Queue& records, std::size_t number);
  void answer(Flow& from, std::unique_ptr<Held> held);
  bool release_answers();

  DeviceAccess* device_ = nullptr;
  Execute execute_;
  std::unordered_map<const Flow*, FlowQueue> queues_;  // none is empty
  std::vector<std::unique_ptr<Held>> leaving_;         // answers that the wire still reads
};

}  // namespace meshmem::network

#endif  // MESHMEM_TRANSPORT_NETWORK_HELD_HPP_
