// SPDX-License-Identifier: Apache-2.0
//
// The queues of flows. Invariant: of a queue, only records before the first one for host memory are
// submitted to the device.
#include "transport/network/held.hpp"

#include <cstring>
#include <utility>

namespace meshmem::network {
namespace {

static_assert(kDeviceChunkBytes <= DeviceAccess::kPieceBytes, "a chunk is one piece");

DeviceWork::Kind kind_of(const Record& record, const std::byte* there) {
  using Kind = DeviceWork::Kind;
  if (record.kind == RecordKind::get) return Kind::read;
  if (record.kind != RecordKind::put) return Kind::operation;
  return is_flag(there, record.bytes) ? Kind::operation : Kind::write;
}

bool overlap(const DeviceWork& a, const DeviceWork& b) {
  return a.there < b.there + b.bytes && b.there < a.there + a.bytes;
}

}  // namespace

void HeldRecords::add(Flow& from, const Record& record, const std::byte* data,
                      std::byte* on_device) {
  auto held = std::make_unique<Held>();
  held->record = record;
  DeviceWork& work = held->work;
  work.there = on_device;
  work.owner = record.index;
  if (on_device) {
    work.kind = kind_of(record, on_device);
    work.bytes = record.kind == RecordKind::put || record.kind == RecordKind::get
                     ? record.bytes
                     : std::uint64_t{record.width};
  }
  if (on_device && work.kind == DeviceWork::Kind::write) {
    device_->take_room(work, record.bytes);
    std::memcpy(work.data, data, record.bytes);
  } else if (on_device && record.kind == RecordKind::put) {
    std::memcpy(&work.operand, data, record.bytes);
  } else if (on_device) {
    work.op = static_cast<device::AtomicOp>(record.op);
    work.operand = record.first;
    work.condition = record.second;
  } else if (record.kind == RecordKind::put) {
    held->data = std::make_unique_for_overwrite<std::byte[]>(record.bytes);
    if (record.bytes > 0) std::memcpy(held->data.get(), data, record.bytes);
  }
  FlowQueue& queue = queues_[&from];
  queue.flow = &from;
  queue.records.push_back(std::move(held));
}

void HeldRecords::end_parcel(Flow& from, std::uint8_t flags) {
  auto end = std::make_unique<Held>();
  end->flags = flags;
  queues_[&from].records.push_back(std::move(end));
}

bool HeldRecords::advance() {
  bool any = release_answers();
  for (auto place = queues_.begin(); place != queues_.end();) {
    FlowQueue& queue = place->second;
    any = advance(queue) || any;
    if (queue.flow->has_answers()) queue.flow->send_open();
    place = queue.records.empty() ? queues_.erase(place) : std::next(place);
  }
  return any;
}

bool HeldRecords::advance(FlowQueue& queue) {
  bool any = false;
  for (bool more = true; more; any = any || more) {
    more = false;
    while (retire_first(queue)) more = true;
    if (submit_copies(queue)) more = true;
    if (submit_operations(queue)) more = true;
  }
  return any;
}

bool HeldRecords::retire_first(FlowQueue& queue) {
  if (queue.records.empty()) return false;
  if (queue.records.front()->is_undone_by_device()) return false;
  std::unique_ptr<Held> held = std::move(queue.records.front());
  queue.records.pop_front();
  for (std::size_t* given : {&queue.n_copies_submitted, &queue.n_operations_submitted})
    if (*given > 0) --*given;
  if (held->is_end()) {
    if (held->flags & kCounted) queue.flow->note_executed();
    if (held->flags & kAsks) queue.flow->acknowledge();
  } else if (held->is_for_device()) {
    answer(*queue.flow, std::move(held));
  } else {
    execute_(*queue.flow, held->record, held->data.get());
  }
  return true;
}

bool HeldRecords::submit_copies(FlowQueue& queue) {
  bool any = false;
  for (std::size_t& i = queue.n_copies_submitted; i < queue.records.size(); ++i) {
    Held& next = *queue.records[i];
    if (next.is_end()) continue;
    if (!next.is_for_device()) return any;
    if (next.work.is_operation()) continue;
    if (!may_be_copied(queue.records, i)) return any;
    device_->submit(next.work);
    any = true;
  }
  return any;
}

// True if this copy would overtake only operations that it may overtake.
bool HeldRecords::may_be_copied(const Queue& records, std::size_t number) {
  constexpr std::size_t kMostToLookAt = 128;
  if (number > kMostToLookAt) return false;
  const Held& copy = *records[number];
  bool overtakes = false;
  for (std::size_t i = 0; i < number; ++i) {
    const Held& earlier = *records[i];
    if (overtakes && earlier.record.follows_fence) return false;
    if (!earlier.work.is_operation() || !earlier.is_undone_by_device()) continue;
    overtakes = true;
    if (overlap(copy.work, earlier.work)) return false;
  }
  return !overtakes || !copy.record.follows_fence;
}

bool HeldRecords::submit_operations(FlowQueue& queue) {
  bool any = false;
  for (std::size_t& i = queue.n_operations_submitted; i < queue.records.size(); ++i) {
    Held& next = *queue.records[i];
    if (next.is_end()) continue;
    if (!next.is_for_device()) return any;
    if (!next.work.is_operation() && next.is_undone_by_device()) return any;
    if (!next.work.is_operation()) continue;
    device_->submit(next.work);
    any = true;
  }
  return any;
}

// Answers a fetch or a get; other records have no answer. Long data is sent from where the device
// has read it to.
void HeldRecords::answer(Flow& from, std::unique_ptr<Held> held) {
  const Record& record = held->record;
  DeviceWork& work = held->work;
  if (record.kind == RecordKind::fetch) {
    from.add_answer(record.bytes, &work.before, sizeof work.before);
  } else if (record.kind == RecordKind::get && record.bytes <= kMostCombined) {
    from.add_answer(record.first, work.data, record.bytes);
    device_->release(work);
  } else if (record.kind == RecordKind::get) {
    from.send_lone({.kind = RecordKind::reply, .bytes = record.bytes, .first = record.first},
                   work.data, &held->under_way);
    leaving_.push_back(std::move(held));
  }
}

bool HeldRecords::release_answers() {
  return std::erase_if(leaving_, [this](const std::unique_ptr<Held>& held) {
           // Acquire: the wire's reads of the data happen before its release.
           if (held->under_way.load(std::memory_order_acquire) != 0) return false;
           device_->release(held->work);
           return true;
         }) > 0;
}

}  // namespace meshmem::network
