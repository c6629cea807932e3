// SPDX-License-Identifier: Apache-2.0
//
// Arrived records that are not executed yet: those for device memory, and later ones of their flow.
// Invariant: a record with follows_fence, a record for host memory and a device's operation each
// take effect after all earlier records. A copy may overtake operations on other memory if no fence
// is between them; so one kernel executes the operations of many puts with signals. A parcel counts
// as executed when all its records are. Under the transport's lock; never waits, calls no device.
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
  // The function that executes a record on host memory.
  using Execute = std::function<void(Flow& from, const Record& record, const std::byte* data)>;
  void use(Execute execute) { execute_ = std::move(execute); }
  void use(DeviceAccess* device) { device_ = device; }

  // True if a record of this flow is held, so that later ones must be held too.
  bool holds(const Flow& from) const { return !queues_.empty() && queues_.count(&from) != 0; }
  bool is_empty() const { return queues_.empty() && leaving_.empty(); }

  // Adds a put, an atomic, a fetch or a get, whose bounds were checked. Copies the data.
  // `on_device`: the place in device memory; nullptr: in host memory.
  void add(Flow& from, const Record& record, const std::byte* data, std::byte* on_device);
  // The parcel with the records added so far ends. `flags`: of its head.
  void end_parcel(Flow& from, std::uint8_t flags);

  // Executes and submits the records that it may. False: there were none.
  bool advance();

 private:
  struct Held {
    Record record;                          // kind none: the end of a parcel
    std::uint8_t flags = 0;                 // of the parcel's head, at its end
    DeviceWork work;                        // with `work.there`, if it is for device memory
    std::unique_ptr<std::byte[]> data;      // of a put to host memory
    std::atomic<std::size_t> under_way{0};  // 1 while the wire reads the answer's data

    bool is_end() const { return record.kind == RecordKind::none; }
    bool is_for_device() const { return work.there != nullptr; }
    // Acquire: what the device read and did happens before the use of the result.
    bool is_undone_by_device() const {
      return is_for_device() && !work.is_done.load(std::memory_order_acquire);
    }
  };
  using Queue = std::deque<std::unique_ptr<Held>>;
  struct FlowQueue {
    Flow* flow = nullptr;
    Queue records;
    // Among the first n_copies_submitted records, all copies have been submitted to the device; the
    // same for operations.
    std::size_t n_copies_submitted = 0, n_operations_submitted = 0;
  };

  bool advance(FlowQueue& queue);
  // Finishes the first record, if the device has done it or need not do it.
  bool retire_first(FlowQueue& queue);
  bool submit_copies(FlowQueue& queue);
  bool submit_operations(FlowQueue& queue);
  static bool may_be_copied(const Queue& records, std::size_t number);
  void answer(Flow& from, std::unique_ptr<Held> held);
  bool release_answers();

  DeviceAccess* device_ = nullptr;
  Execute execute_;
  std::unordered_map<const Flow*, FlowQueue> queues_;  // no queue is empty
  std::vector<std::unique_ptr<Held>> leaving_;         // answers that the wire still reads
};

}  // namespace meshmem::network

#endif  // MESHMEM_TRANSPORT_NETWORK_HELD_HPP_
