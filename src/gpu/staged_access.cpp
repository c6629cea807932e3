// SPDX-License-Identifier: Apache-2.0
//
// Puts submitted work on streams in rounds, and ends a round when its event is reached.
// Invariant: the thread that has the turn calls HIP, and holds no other lock then. So if a driver
// makes a call wait, no thread that only submits work waits too.
#include "gpu/staged_access.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "gpu/device_target.hpp"
#include "gpu/hip_error.hpp"
#include "gpu/host_stores.hpp"

namespace meshmem {

StagedAccess& staged_access() {
  static StagedAccess& instance = *new StagedAccess;
  return instance;
}

void StagedAccess::take_room(DeviceWork& work, std::size_t bytes) {
  work.bytes = bytes;
  work.data = bytes > kSmall ? take_piece(kPieces - kMostForWrites) : nullptr;
  if (work.data) return;
  work.own_data = std::make_unique_for_overwrite<std::byte[]>(bytes);
  work.data = work.own_data.get();
}

void StagedAccess::submit(DeviceWork& work) {
  n_open_.fetch_add(1, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  submitted_.push_back(&work);
}

void StagedAccess::release(DeviceWork& work) { give_back(std::exchange(work.data, nullptr)); }

std::byte* StagedAccess::take_piece(int left_for_others) {
  const std::lock_guard lock(mutex_);
  if (static_cast<int>(free_pieces_.size()) <= left_for_others) return nullptr;
  std::byte* const piece = free_pieces_.back();
  free_pieces_.pop_back();
  return piece;
}

void StagedAccess::give_back(std::byte* piece) {
  const std::lock_guard lock(mutex_);
  free_pieces_.push_back(piece);
}

bool StagedAccess::drive() {
  if (n_open_.load(std::memory_order_relaxed) == 0) return false;
  const std::unique_lock turn(turn_, std::try_to_lock);
  if (!turn) return false;
  const OnDevice current(device_);
  const RelaxedCapture allowed;
  if (!copies_.stream) make_streams();
  take_submitted();
  bool any = end_rounds(copies_);
  any = store_writes() || any;
  any = begin_copies() || any;
  for (auto& [device, lane] : operations_) {
    any = end_rounds(lane) || any;
    any = begin_operations(lane) || any;
  }
  return any;
}

void StagedAccess::make_streams() {
  make_lane(copies_, device_);
  operations_on(device_);
  for (Round& round : copies_.rounds) round.small = pin_memory(kPieceBytes);
  std::byte* const pieces = pin_memory(kPieces * kPieceBytes);
  const std::lock_guard lock(mutex_);
  for (int i = 0; i < kPieces; ++i)
    free_pieces_.push_back(pieces + static_cast<std::size_t>(i) * kPieceBytes);
}

void StagedAccess::make_lane(Lane& lane, int device) {
  const OnDevice current(device);
  lane.device = device;
  check(create_urgent_stream(&lane.stream), "make a stream on device {}", device);
  for (Round& round : lane.rounds) round.done = make_event(device);
}

StagedAccess::Lane& StagedAccess::operations_on(int device) {
  Lane& lane = operations_[device];
  if (lane.stream) return lane;
  make_lane(lane, device);
  for (Round& round : lane.rounds)
    round.operations = reinterpret_cast<device::Operation*>(
        pin_memory(kOperationsOfPage * sizeof(device::Operation)));
  return lane;
}

void StagedAccess::take_submitted() {
  {
    const std::lock_guard lock(mutex_);
    taken_.swap(submitted_);
  }
  for (DeviceWork* work : taken_) {
    const int device = routes_ ? (*routes_)[work->owner].device : device_;
    (work->is_operation() ? operations_on(device) : copies_).waiting.push_back(work);
  }
  taken_.clear();
}

bool StagedAccess::end_rounds(Lane& lane) {
  bool any = false;
  for (; lane.ended != lane.begun; ++lane.ended, any = true) {
    Round& round = lane.round(lane.ended);
    const hipError_t state = state_of(round.done);
    if (state == hipErrorNotReady) break;
    check(state, "do work for other machines on device {}", lane.device);
    finish(round);
    round.works.clear();
    round.used = 0;
  }
  return any;
}

void StagedAccess::finish(const Round& round) {
  for (std::size_t i = 0; i < round.works.size(); ++i) {
    DeviceWork& work = *round.works[i];
    if (work.is_operation()) work.before = round.operations[i].before;
    finish(work);
  }
}

// The waiting thread may destroy `work` as soon as is_done is set, so that store is the last
// access.
void StagedAccess::finish(DeviceWork& work) {
  if (work.kind == DeviceWork::Kind::write && !work.own_data)
    give_back(std::exchange(work.data, nullptr));
  n_open_.fetch_sub(1, std::memory_order_relaxed);
  work.is_done.store(true, std::memory_order_release);
}

// The processor stores writes where it may, as long as there is no copy that they would overtake.
// The device does all operations: the program may use atomics on a word that a `set` stores.
bool StagedAccess::store_writes() {
  Lane& lane = copies_;
  while (lane.begun == lane.ended && !lane.waiting.empty()) {
    DeviceWork& work = *lane.waiting.front();
    if (work.kind != DeviceWork::Kind::write ||
        !host_stores().try_store(work.there, work.data, work.bytes))
      break;
    stored_.push_back(&work);
    lane.waiting.pop_front();
  }
  if (stored_.empty()) return false;
  host_stores().complete();
  for (DeviceWork* work : stored_) finish(*work);
  stored_.clear();
  return true;
}

void StagedAccess::begin(Lane& lane) {
  check(hipEventRecord(lane.round(lane.begun).done, lane.stream), "record an event on device {}",
        lane.device);
  ++lane.begun;
}

bool StagedAccess::begin_copies() {
  Lane& lane = copies_;
  if (lane.waiting.empty() || lane.begun - lane.ended == kRounds) return false;
  Round& round = lane.round(lane.begun);
  while (!lane.waiting.empty() && add_copy(round, *lane.waiting.front())) {
    round.works.push_back(lane.waiting.front());
    lane.waiting.pop_front();
  }
  if (round.works.empty()) return false;
  begin(lane);
  return true;
}

// Returns false if the round has no room for the copy, or no piece is free.
bool StagedAccess::add_copy(Round& round, DeviceWork& work) {
  if (work.kind == DeviceWork::Kind::read) {
    work.data = take_piece(0);
    if (!work.data) return false;
    check(hipMemcpyAsync(work.data, work.there, work.bytes, hipMemcpyDefault, copies_.stream),
          "read {} bytes of device memory", work.bytes);
    return true;
  }
  const std::byte* from = work.data;
  if (work.own_data) {
    if (round.used + work.bytes > kPieceBytes) return false;
    std::memcpy(round.small + round.used, work.data, work.bytes);
    from = round.small + round.used;
    round.used += (work.bytes + 15) / 16 * 16;
  }
  check(hipMemcpyAsync(work.there, from, work.bytes, hipMemcpyDefault, copies_.stream),
        "write {} bytes of device memory", work.bytes);
  return true;
}

bool StagedAccess::begin_operations(Lane& lane) {
  if (lane.waiting.empty() || lane.begun - lane.ended == kRounds) return false;
  Round& round = lane.round(lane.begun);
  const std::size_t n = std::min<std::size_t>(lane.waiting.size(), kOperationsOfPage);
  for (std::size_t i = 0; i < n; ++i) {
    DeviceWork& work = *lane.waiting.front();
    lane.waiting.pop_front();
    round.operations[i] = {work.there, work.operand, work.condition,
                           0,          work.op,      static_cast<std::uint32_t>(work.bytes)};
    round.works.push_back(&work);
  }
  const OnDevice current(lane.device);
  check(device::launch_operations(round.operations, static_cast<int>(n), lane.stream),
        "start operations that other machines ask for");
  begin(lane);
  return true;
}

}  // namespace meshmem
