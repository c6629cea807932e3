// SPDX-License-Identifier: Apache-2.0
// Events: points in streams. Streams and the host can wait for an event. An event knows when its
// stream came to it, and carries a capture from stream to stream.
// Invariant: a wait is for the event's last recording at the time of the call; later ones do not
// count. Only streams of the event's own device record it; streams of any device may wait for it.
#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <utility>

#include "errors.hpp"
#include "process_state.hpp"
#include "streams.hpp"

namespace hip_on_cpu {
namespace {

constexpr unsigned kFenceFlags = 0xe0000000;  // HIP's: which caches an event writes back

// A point in a stream, and the time when the stream came there.
struct Recording {
  Ticket ticket;
  std::chrono::steady_clock::time_point time{};  // written before the ticket is done
};

// Guarded by Streams::mutex.
struct Event {
  int device;
  bool has_time;
  std::shared_ptr<Recording> recording;  // null before the first one
  std::shared_ptr<Capture> capture;      // not null when the last recording was captured
  std::weak_ptr<Stream> stream;          // of the last recording
  Seen seen;                             // of that capture
};

Handles<hipEvent_t, Event>& events() { return ProcessState<Handles<hipEvent_t, Event>>::get(); }

// Gives the last recording, null before the first. An event of a capture is an error, which also
// invalidates the capture.
hipError_t recording_of(hipEvent_t handle, std::shared_ptr<Recording>* recording) {
  const std::lock_guard lock(Streams::get().mutex);
  const auto event = events().find(handle);
  if (event == nullptr) return hipErrorInvalidHandle;
  if (event->capture != nullptr) return event->capture->invalidate(hipErrorCapturedEvent);
  // Like AMD's runtime since 6.2, this also refuses a recording from before the stream's capture.
  const auto stream = event->stream.lock();
  if (stream != nullptr && stream->capture != nullptr)
    return stream->capture->invalidate(hipErrorCapturedEvent);
  *recording = event->recording;
  return hipSuccess;
}

hipError_t record(Event& event, const std::shared_ptr<Stream>& stream, Streams& streams) {
  if (event.device != stream->device()) return hipErrorInvalidHandle;
  event.stream = stream;
  if (stream->capture != nullptr) {
    if (stream->capture->invalid) return hipErrorStreamCaptureInvalidated;
    event.capture = stream->capture;
    event.seen = stream->capture->streams[stream];
    return hipSuccess;
  }
  event.capture = nullptr;
  auto recording = std::make_shared<Recording>();
  const hipError_t error = stream->enqueue(
      [recording] {
        recording->time = std::chrono::steady_clock::now();
        return hipSuccess;
      },
      streams.before(stream));
  recording->ticket = stream->last();
  event.recording = std::move(recording);
  return error;
}

// Puts the stream's next operations behind the event's point in a capture. The stream thereby joins
// the capture.
hipError_t join(const std::shared_ptr<Stream>& stream, const Event& event, bool is_default) {
  const auto& capture = event.capture;
  if (!capture->active) return hipErrorCapturedEvent;
  if (is_default) return capture->invalidate(hipErrorStreamCaptureImplicit);
  if (stream->capture == nullptr) {
    stream->capture = capture;
  } else if (stream->capture != capture) {
    stream->capture->invalidate(hipErrorStreamCaptureMerge);
    return capture->invalidate(hipErrorStreamCaptureMerge);
  }
  Seen& seen = capture->streams[stream];
  for (const auto& [other, count] : event.seen) seen[other] = std::max(seen[other], count);
  return hipSuccess;
}

hipError_t make_wait(const std::shared_ptr<Stream>& stream, const Event& event, Streams& streams) {
  if (event.capture != nullptr) return join(stream, event, streams.is_default(stream));
  if (event.recording == nullptr) return hipSuccess;
  if (stream->capture != nullptr)
    return stream->capture->invalidate(hipErrorStreamCaptureIsolation);
  auto after = streams.before(stream);
  after.push_back(event.recording->ticket);
  return stream->enqueue([] { return hipSuccess; }, std::move(after));
}

}  // namespace
}  // namespace hip_on_cpu

using namespace hip_on_cpu;

extern "C" {

hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
  host_only();
  if (event == nullptr) return remember(hipErrorInvalidValue);
  const hipError_t error = check_flags(flags, hipEventBlockingSync | hipEventDisableTiming,
                                       hipEventInterprocess | kFenceFlags);
  if (error != hipSuccess) return remember(error);
  if (device_count() == 0) return remember(hipErrorNoDevice);
  auto made = std::make_shared<Event>();
  made->device = current_device();
  made->has_time = (flags & hipEventDisableTiming) == 0;
  *event = events().add(std::move(made));
  return hipSuccess;
}
hipError_t hipEventCreate(hipEvent_t* event) {
  host_only();
  return hipEventCreateWithFlags(event, hipEventDefault);
}

hipError_t hipEventDestroy(hipEvent_t event) {
  host_only();
  const auto removed = events().remove(event);
  return remember(removed == nullptr ? hipErrorInvalidHandle : hipSuccess);
}

hipError_t hipEventRecord(hipEvent_t handle, hipStream_t stream_handle) {
  host_only();
  Streams& streams = Streams::get();
  const std::lock_guard lock(streams.mutex);
  const auto event = events().find(handle);
  const auto stream = streams.find(stream_handle);
  if (event == nullptr || stream == nullptr) return remember(hipErrorInvalidHandle);
  if (streams.is_default(stream) && streams.blocking_stream_captures(stream->device())) {
    return remember(hipErrorStreamCaptureImplicit);
  }
  return remember(record(*event, stream, streams));
}

hipError_t hipStreamWaitEvent(hipStream_t stream_handle, hipEvent_t handle, unsigned flags) {
  host_only();
  if (flags != 0) return remember(hipErrorInvalidValue);
  Streams& streams = Streams::get();
  const std::lock_guard lock(streams.mutex);
  const auto event = events().find(handle);
  const auto stream = streams.find(stream_handle);
  if (event == nullptr || stream == nullptr) return remember(hipErrorInvalidHandle);
  return remember(make_wait(stream, *event, streams));
}

hipError_t hipEventSynchronize(hipEvent_t event) {
  host_only();
  std::shared_ptr<Recording> recording;
  hipError_t error = recording_of(event, &recording);
  if (error == hipSuccess) error = refuse_while_capturing();
  if (error == hipSuccess && recording != nullptr) recording->ticket.wait();
  return remember(error);
}

hipError_t hipEventQuery(hipEvent_t event) {
  host_only();
  std::shared_ptr<Recording> recording;
  hipError_t error = recording_of(event, &recording);
  if (error == hipSuccess) error = refuse_while_capturing();
  if (error != hipSuccess) return remember(error);
  return recording == nullptr || recording->ticket.is_done() ? hipSuccess : hipErrorNotReady;
}

hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  host_only();
  if (milliseconds == nullptr) return remember(hipErrorInvalidValue);
  std::shared_ptr<Recording> first, second;
  hipError_t error = recording_of(start, &first);
  if (error == hipSuccess) error = recording_of(stop, &second);
  if (error != hipSuccess) return remember(error);
  if (first == nullptr || second == nullptr) return remember(hipErrorInvalidHandle);
  const auto from = events().find(start), to = events().find(stop);
  if (!from || !to || !from->has_time || !to->has_time) return remember(hipErrorInvalidHandle);
  if (!first->ticket.is_done() || !second->ticket.is_done()) return hipErrorNotReady;
  *milliseconds = std::chrono::duration<float, std::milli>(second->time - first->time).count();
  return hipSuccess;
}

}  // extern "C"
