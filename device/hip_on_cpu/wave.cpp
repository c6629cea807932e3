// SPDX-License-Identifier: Apache-2.0
// Meetings of a wave: of all its lanes, of those that a mask names, and of those that are active at
// a place.
// Invariant: a thread that completes a meeting, also by exiting or by going to wait elsewhere,
// makes the threads that wait there ready. The values of a meeting stay until its threads come to
// their next one. Part of BlockRunner (block.hpp).
#include <algorithm>
#include <utility>

#include "block.hpp"
#include "launch.hpp"

namespace hip_on_cpu {
namespace {

// The thread of this rank comes to a meeting.
void enter(WaveValues& values, WaveOperation operation, std::uint64_t value, unsigned rank) {
  if (values.lanes != 0 && values.operation != operation)
    fail_in_kernel("the threads of a wave meet in different operations of the wave");
  values.operation = operation;
  values.of_lane[rank % warpSize] = value;
  values.lanes |= bit_of(rank);
}

}  // namespace

// Lanes that wait at the block's barrier are not awaited: it cannot end before the others come to
// it.
void BlockRunner::release_wave_if_complete(Wave& wave) {
  const std::uint64_t arrived = wave.values[wave.turn].lanes;
  if (arrived == 0 || (arrived | wave.at_barrier) != wave.live) return;
  check_calls_of_wave(static_cast<unsigned>(&wave - waves_));
  wave.turn ^= 1;
  wave.values[wave.turn].lanes = 0;
  ready_.take_all(wave.waiting);
}

const WaveValues& BlockRunner::meet_in_wave(WaveOperation operation, std::uint64_t value) {
  made_progress();
  const unsigned rank = running_->thread->rank;
  Wave& wave = waves_[rank / warpSize];
  WaveValues& values = wave.values[wave.turn];
  enter(values, operation, value, rank);
  if ((values.lanes | wave.at_barrier) == wave.live) {
    release_wave_if_complete(wave);
  } else {
    release_meetings(wave);
    wait_in(wave.waiting);
  }
  return values;
}

void BlockRunner::release(Meeting& meeting) {
  meeting.is_over = true;
  ready_.take_all(meeting.waiting);
}

// Ends the meetings whose lanes have all come. If then no lane of the wave can go on, it also ends
// the meetings of active lanes.
void BlockRunner::release_meetings(Wave& wave) {
  if (wave.meetings.empty()) return;
  std::uint64_t waiting = wave.values[wave.turn].lanes | wave.at_barrier;
  std::erase_if(wave.meetings, [&](const auto& meeting) {
    const std::uint64_t arrived = meeting->values.lanes, named = meeting->who.mask;
    if (named == 0 || arrived != (named & wave.live)) {
      waiting |= arrived;
      return false;
    }
    release(*meeting);
    return true;
  });
  if (waiting == wave.live) release_active_lanes(wave);
}

bool BlockRunner::release_active_lanes(Wave& wave) {
  return std::erase_if(wave.meetings, [&](const auto& meeting) {
           if (meeting->who.mask == 0) release(*meeting);
           return meeting->is_over;
         }) > 0;
}

// Ends the meetings of active lanes in all waves: the other lanes only poll, and are not waited
// for. True if it ended one.
bool BlockRunner::release_active_lanes() {
  if (last_meetings_.empty()) return false;
  bool found = false;
  for (unsigned first = 0; first < size_; first += warpSize)
    found |= release_active_lanes(waves_[first / warpSize]);
  return found;
}

const WaveValues& BlockRunner::meet_lanes(WaveOperation operation, std::uint64_t value,
                                          const LanesAt& who) {
  made_progress();
  const unsigned rank = running_->thread->rank;
  if (who.file == nullptr && (who.mask & bit_of(rank)) == 0)
    fail_in_kernel("an operation of the wave with a mask that leaves out this thread");
  if (last_meetings_.empty()) last_meetings_.resize(kMaxThreadsPerBlock);
  Wave& wave = waves_[rank / warpSize];
  auto& meeting = last_meetings_[rank];
  const auto found = std::find_if(wave.meetings.begin(), wave.meetings.end(),
                                  [&](const auto& other) { return other->who == who; });
  if (found != wave.meetings.end()) {
    meeting = *found;
  } else {
    meeting = std::make_shared<Meeting>(Meeting{who});
    wave.meetings.push_back(meeting);
  }
  enter(meeting->values, operation, value, rank);
  release_meetings(wave);
  if (!meeting->is_over) wait_in(meeting->waiting);
  return meeting->values;
}

// Only a mask can cause this: barriers and meetings of whole waves do not wait for threads that
// wait elsewhere.
void BlockRunner::fail_as_none_is_ready() {
  for (const Wave& wave : waves_) {
    if (wave.meetings.empty()) continue;
    current_thread = wave.meetings.front()->waiting.pop()->thread;
    break;
  }
  fail_in_kernel("a mask of an operation of the wave names lanes that do not come to it");
}

const WaveValues& meet_in_wave(WaveOperation operation, std::uint64_t value, Lanes<warpSize>) {
  return current_thread->block->runner->meet_in_wave(operation, value);
}

const WaveValues& meet_lanes(WaveOperation operation, std::uint64_t value, const LanesAt& who,
                             Lanes<warpSize>) {
  return current_thread->block->runner->meet_lanes(operation, value, who);
}

}  // namespace hip_on_cpu
