// SPDX-License-Identifier: Apache-2.0
// Records captures. At the end checks that the origin stream has waited for all work of the others.
// Invariant: a capture that went wrong stays wrong: its end gives an error and no graph.
#include "capture.hpp"

#include <algorithm>
#include <utility>

namespace hip_on_cpu {

hipError_t Capture::record(const std::shared_ptr<Stream>& stream, Operation operation) {
  if (invalid) return hipErrorStreamCaptureInvalidated;
  operations.push_back(std::move(operation));
  ++streams[stream][stream.get()];
  return hipSuccess;
}

hipError_t Capture::invalidate(hipError_t reason) {
  invalid = true;
  return reason;
}

bool Capture::is_joined() const {
  const Seen& by_origin = streams.at(origin);
  return std::all_of(streams.begin(), streams.end(), [&](const auto& entry) {
    const auto& [stream, seen] = entry;
    const auto own = seen.find(stream.get());
    if (own == seen.end()) return true;  // it recorded nothing
    const auto joined = by_origin.find(stream.get());
    return joined != by_origin.end() && joined->second == own->second;
  });
}

hipError_t Captures::begin(const std::shared_ptr<Stream>& stream, hipStreamCaptureMode mode) {
  if (stream->capture != nullptr) return hipErrorIllegalState;
  auto capture = std::make_shared<Capture>();
  capture->mode = mode;
  capture->origin = stream;
  capture->streams[stream] = {};
  stream->capture = capture;
  active_.push_back(std::move(capture));
  return hipSuccess;
}

hipError_t Captures::end(const std::shared_ptr<Stream>& stream, Operations* operations) {
  const auto capture = stream->capture;
  if (capture == nullptr) return hipErrorIllegalState;
  if (capture->origin != stream) return hipErrorStreamCaptureUnmatched;
  if (capture->mode != hipStreamCaptureModeRelaxed &&
      capture->thread != std::this_thread::get_id()) {
    return hipErrorStreamCaptureWrongThread;
  }
  const hipError_t error = capture->invalid        ? hipErrorStreamCaptureInvalidated
                           : !capture->is_joined() ? hipErrorStreamCaptureUnjoined
                                                   : hipSuccess;
  if (error == hipSuccess) *operations = std::move(capture->operations);
  capture->active = false;
  for (const auto& [member, seen] : capture->streams) member->capture = nullptr;
  capture->streams.clear();
  std::erase(active_, capture);
  return error;
}

namespace {

thread_local hipStreamCaptureMode mode_of_thread = hipStreamCaptureModeGlobal;

}  // namespace

hipError_t Captures::refuse_unsafe_call() {
  if (mode_of_thread == hipStreamCaptureModeRelaxed) return hipSuccess;
  for (const auto& capture : active_) {
    const bool by_this_thread = capture->thread == std::this_thread::get_id();
    if ((by_this_thread && capture->mode != hipStreamCaptureModeRelaxed) ||
        (mode_of_thread == hipStreamCaptureModeGlobal &&
         capture->mode == hipStreamCaptureModeGlobal)) {
      return capture->invalidate(hipErrorStreamCaptureUnsupported);
    }
  }
  return hipSuccess;
}

hipStreamCaptureMode Captures::exchange_mode_of_thread(hipStreamCaptureMode mode) {
  return std::exchange(mode_of_thread, mode);
}

}  // namespace hip_on_cpu
