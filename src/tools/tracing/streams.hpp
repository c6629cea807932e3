// SPDX-License-Identifier: Apache-2.0
//
// Records the routines that programs put on streams. Each stream has a track (a row of the trace),
// with a span for each run of such a routine. If a graph is launched, its spans go to the track of
// the stream from which it was captured.
// Invariant: host functions on the stream take the times, before and after the routine's work.
// Called by the wrappers (entries).
#ifndef MESHMEM_TOOLS_TRACING_STREAMS_HPP_
#define MESHMEM_TOOLS_TRACING_STREAMS_HPP_

#include <shmemx.h>

#include "tools/tracing/part_file.hpp"

namespace meshmem::tracing {

void use_streams(const TraceJob& job);  // called before the functions below

struct StreamWork;
// Puts the first host function on the stream. Returns nullptr if nothing is recorded. `record` has
// the arguments of the call.
StreamWork* begin_on_stream(shmemx_stream_t stream, const Record& record);
void end_on_stream(shmemx_stream_t stream, StreamWork* work);

// Lives during the call that puts the routine's work on the stream.
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

// Stands in place of OnStream for a routine that puts nothing on a stream.
struct NotOnStream {
  template <typename... Any>
  explicit NotOnStream(const Any&...) {}
};

}  // namespace meshmem::tracing

#endif  // MESHMEM_TOOLS_TRACING_STREAMS_HPP_
