// SPDX-License-Identifier: Apache-2.0
// The rules of the default stream: its operations come after all that was submitted to the device's
// blocking streams before, and theirs after its own.
// Invariant: the streams' mutex is held to submit, and never to wait.
#include "streams.hpp"

#include <utility>

#include "errors.hpp"
#include "process_state.hpp"

namespace hip_on_cpu {

Streams& Streams::get() { return ProcessState<Streams>::get(); }

Streams::Streams() {
  for (int i = 0; i < kMaxDevices; ++i) defaults_[i] = std::make_shared<Stream>(i, true);
}

std::shared_ptr<Stream> Streams::find(hipStream_t handle) const {
  return handle == nullptr ? defaults_[current_device()] : handles.find(handle);
}

std::vector<Ticket> Streams::pending(int device) {
  std::vector<Ticket> tickets;
  const auto add = [&](const std::shared_ptr<Stream>& stream) {
    if (stream->device() == device && !stream->is_idle()) tickets.push_back(stream->last());
  };
  handles.for_each(add);
  std::erase_if(destroyed, [](const auto& stream) { return stream->is_idle(); });
  for (const auto& stream : destroyed) add(stream);
  add(defaults_[device]);
  return tickets;
}

std::vector<Ticket> Streams::before(const std::shared_ptr<Stream>& stream) {
  if (is_default(stream)) {
    auto tickets = pending(stream->device());
    std::erase_if(tickets,
                  [&](const Ticket& t) { return t.stream == stream || !t.stream->blocking(); });
    return tickets;
  }
  const auto& first = defaults_[stream->device()];
  if (!stream->blocking() || first->is_idle()) return {};
  return {first->last()};
}

bool Streams::blocking_stream_captures(int device) const {
  bool found = false;
  handles.for_each([&](const std::shared_ptr<Stream>& stream) {
    if (stream->device() == device && stream->blocking() && stream->capture != nullptr) {
      stream->capture->invalidate(hipErrorStreamCaptureImplicit);
      found = true;
    }
  });
  return found;
}

hipError_t refuse_while_capturing() {
  Streams& streams = Streams::get();
  const std::lock_guard lock(streams.mutex);
  return streams.captures.refuse_unsafe_call();
}

hipError_t submit(hipStream_t handle, Operation operation) {
  std::optional<Ticket> ticket;
  return submit_after(ticket, handle, std::move(operation));
}

hipError_t submit_after(std::optional<Ticket>& ticket, hipStream_t handle, Operation operation) {
  if (device_count() == 0) return hipErrorNoDevice;
  return with_stream(handle, [&](Streams& streams, const auto& stream) {
    if (stream->capture != nullptr) return stream->capture->record(stream, std::move(operation));
    if (streams.is_default(stream) && streams.blocking_stream_captures(stream->device()))
      return hipErrorStreamCaptureImplicit;
    auto after = streams.before(stream);
    if (ticket) after.push_back(*ticket);
    const hipError_t error = stream->enqueue(std::move(operation), std::move(after));
    if (error == hipSuccess) ticket = stream->last();
    return error;
  });
}

namespace {

hipError_t wait_and_take_errors(const std::vector<Ticket>& tickets) {
  hipError_t error = hipSuccess;
  for (const Ticket& ticket : tickets) {
    ticket.wait();
    const hipError_t its_error = ticket.stream->take_error();
    if (error == hipSuccess) error = its_error;
  }
  return error;
}

// The tickets to wait for until the stream is done, and all work that it comes after.
std::vector<Ticket> all_of(Streams& streams, const std::shared_ptr<Stream>& stream) {
  auto tickets = streams.before(stream);
  tickets.push_back(stream->last());
  return tickets;
}

}  // namespace

hipError_t run_in_default_stream(const Operation& operation) {
  if (device_count() == 0) return hipErrorNoDevice;
  Streams& streams = Streams::get();
  std::vector<Ticket> tickets;
  {
    const std::lock_guard lock(streams.mutex);
    if (const hipError_t error = streams.captures.refuse_unsafe_call(); error != hipSuccess)
      return error;
    const auto stream = streams.find(nullptr);
    if (streams.blocking_stream_captures(stream->device())) return hipErrorStreamCaptureImplicit;
    tickets = all_of(streams, stream);
  }
  const hipError_t error = wait_and_take_errors(tickets);
  return error != hipSuccess ? error : operation();
}

hipError_t synchronize_device(int device) {
  Streams& streams = Streams::get();
  std::vector<Ticket> tickets;
  {
    const std::lock_guard lock(streams.mutex);
    tickets = streams.pending(device);
  }
  return wait_and_take_errors(tickets);
}

}  // namespace hip_on_cpu

using namespace hip_on_cpu;

extern "C" {

hipError_t hipDeviceSynchronize(void) {
  host_only();
  if (device_count() == 0) return remember(hipErrorNoDevice);
  const hipError_t error = refuse_while_capturing();
  return remember(error != hipSuccess ? error : synchronize_device(current_device()));
}

hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) {
  host_only();
  if (stream == nullptr || flags > hipStreamNonBlocking) return remember(hipErrorInvalidValue);
  if (device_count() == 0) return remember(hipErrorNoDevice);
  const bool blocking = (flags & hipStreamNonBlocking) == 0;
  *stream = Streams::get().handles.add(std::make_shared<Stream>(current_device(), blocking));
  return hipSuccess;
}
hipError_t hipStreamCreate(hipStream_t* stream) {
  host_only();
  return hipStreamCreateWithFlags(stream, hipStreamDefault);
}

// All streams are equal: there is one priority, 0.
hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  host_only();
  if (device_count() == 0) return remember(hipErrorNoDevice);
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = 0;
  return hipSuccess;
}
hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority) {
  host_only();
  static_cast<void>(priority);  // brought into the range, as HIP does
  return hipStreamCreateWithFlags(stream, flags);
}
hipError_t hipStreamGetPriority(hipStream_t handle, int* priority) {
  host_only();
  if (priority == nullptr) return remember(hipErrorInvalidValue);
  if (device_count() == 0) return remember(hipErrorNoDevice);
  if (Streams::get().find(handle) == nullptr) return remember(hipErrorInvalidHandle);
  *priority = 0;
  return hipSuccess;
}
hipError_t hipStreamGetDevice(hipStream_t handle, hipDevice_t* device) {
  host_only();
  if (device == nullptr) return remember(hipErrorInvalidValue);
  if (device_count() == 0) return remember(hipErrorNoDevice);
  const auto stream = Streams::get().find(handle);
  if (stream == nullptr) return remember(hipErrorInvalidHandle);
  *device = stream->device();
  return hipSuccess;
}

hipError_t hipStreamDestroy(hipStream_t handle) {
  host_only();
  Streams& streams = Streams::get();
  const std::lock_guard lock(streams.mutex);
  const auto stream = streams.handles.find(handle);
  if (stream == nullptr) return remember(hipErrorInvalidHandle);
  if (stream->capture != nullptr) {
    return remember(stream->capture->invalidate(hipErrorStreamCaptureUnsupported));
  }
  streams.handles.remove(handle);
  if (!stream->is_idle()) streams.destroyed.push_back(stream);
  return hipSuccess;
}

hipError_t hipStreamSynchronize(hipStream_t handle) {
  host_only();
  if (device_count() == 0) return remember(hipErrorNoDevice);
  std::vector<Ticket> tickets;
  const hipError_t error = with_stream(handle, [&](Streams& streams, const auto& stream) {
    if (stream->capture != nullptr)
      return stream->capture->invalidate(hipErrorStreamCaptureUnsupported);
    if (streams.is_default(stream) && streams.blocking_stream_captures(stream->device()))
      return hipErrorStreamCaptureImplicit;
    tickets = all_of(streams, stream);
    return hipSuccess;
  });
  return remember(error != hipSuccess ? error : wait_and_take_errors(tickets));
}

hipError_t hipStreamQuery(hipStream_t handle) {
  host_only();
  if (device_count() == 0) return remember(hipErrorNoDevice);
  return remember(with_stream(handle, [](Streams& streams, const auto& stream) {
    if (stream->capture != nullptr)
      return stream->capture->invalidate(hipErrorStreamCaptureUnsupported);
    const bool is_done = stream->is_idle() && streams.before(stream).empty();
    return is_done ? stream->take_error() : hipErrorNotReady;
  }));
}

hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void* user_data) {
  host_only();
  if (function == nullptr) return remember(hipErrorInvalidValue);
  return remember(submit(stream, [function, user_data] {
    function(user_data);
    return hipSuccess;
  }));
}

}  // extern "C"
