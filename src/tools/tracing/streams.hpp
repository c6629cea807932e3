// SPDX-License-Identifier: Apache-2.0
//
// Records the routines that programs put on streams: a track for each stream, with a span for each
// time that the stream ran such a routine. A launch of a graph adds spans to the track of the
// stream that the graph was captured from.
// Invariant: the stream itself takes the times, by host functions before and after the routine's
// work. Called by the wrappers (entries).
#ifndef MESHMEM_TOOLS_TRACING_STREAMS_HPP_
#define MESHMEM_TOOLS_TRACING_STREAMS_HPP_

#include <shmemx.h>

#include "tools/tracing/part_file.hpp"

namespace meshmem::tracing {

void use_streams(const TraceJob& job);  // before all else

struct StreamWork;
// nullptr: nothing is recorded. `record` has the arguments of the call.
StreamWork* begin_on_stream(shmemx_stream_t stream, const Record& record);
void end_on_stream(shmemx_stream_t stream, StreamWork* work);

// Lives around the call that puts the work there.
class OnStream {
 public:
  OnStream(shmemx_stream_t stream, const Record& record)
      : stream_(stream), work_(begin_on_stream(stream, record)) {}
  ~OnStream() { end_on_stream(stream_, work_); }
  OnStream(const OnStream&) = delete;
  OnStream& operator=(const OnStream&) = delete;

 private:
  shmemx_stream_t stream_;
  StreamWork* work_;
};

// A routine that puts nothing on a stream.
struct NotOnStream {
  template <typename... Any>
  explicit NotOnStream(const Any&...) {}
};

}  // namespace meshmem::tracing

#endif  // MESHMEM_TOOLS_TRACING_STREAMS_HPP_
