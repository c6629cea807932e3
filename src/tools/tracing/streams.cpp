// SPDX-License-Identifier: Apache-2.0
//
// Host functions on the stream read the clock.
// Invariant: the StreamWork of a graph is never freed, since the graph may be launched again.
// Others are freed by their second function. A stream that takes no host function has no spans.
#include "tools/tracing/streams.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "tools/tracing/recorder.hpp"

namespace meshmem::tracing {
namespace {

struct StreamTrack {
  std::mutex mutex;  // graphs that were captured from one stream may run at once
  std::string name;
  Track track;
};

TraceJob job;  // only its functions are used here
std::mutex streams_mutex;
// Live for ever: streams may be at work, and destructors may finalize, at the process's end.
auto& tracks = *new std::map<shmemx_stream_t, std::unique_ptr<StreamTrack>>;

StreamTrack& track_of(shmemx_stream_t stream) {
  const std::lock_guard lock(streams_mutex);
  std::unique_ptr<StreamTrack>& found = tracks[stream];
  if (!found) {
    found = std::make_unique<StreamTrack>();
    found->name = stream ? fmt::format("stream {}", tracks.size()) : "default stream";
    found->track.name = found->name.c_str();
  }
  return *found;
}

}  // namespace

struct StreamWork {
  Record record;
  StreamTrack& stream;
  bool stays;

  static void begin(void* work) { static_cast<StreamWork*>(work)->record.begin = now_in_ticks(); }
  static void end(void* handle) {
    auto* work = static_cast<StreamWork*>(handle);
    work->record.end = now_in_ticks();
    {
      const std::lock_guard lock(work->stream.mutex);
      record_on(work->stream.track, work->record);
    }
    if (!work->stays) delete work;
  }
};

void use_streams(const TraceJob& of) { job = of; }

StreamWork* begin_on_stream(shmemx_stream_t stream, const Record& record) {
  if (!is_recording()) return nullptr;
  std::unique_ptr<StreamWork> work(
      new StreamWork{record, track_of(stream), job.is_captured(stream)});
  work->record.has_result = 0;
  work->record.by_stream = 1;
  return job.call_on_stream(stream, StreamWork::begin, work.get()) ? work.release() : nullptr;
}

// If the stream does not take the second function, the work is not freed: the first may yet run.
void end_on_stream(shmemx_stream_t stream, StreamWork* work) {
  if (work) (void)job.call_on_stream(stream, StreamWork::end, work);
}

}  // namespace meshmem::tracing
