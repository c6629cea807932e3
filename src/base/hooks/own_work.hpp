// SPDX-License-Identifier: Apache-2.0
//
// Notes what threads of the library do beside the program, for tracks of their own in a trace.
// Invariant: without a trace it costs one load. Used by the threads. The library of traces sets the
// hook when it opens a trace, and clears it when it closes the trace.
#ifndef MESHMEM_BASE_HOOKS_OWN_WORK_HPP_
#define MESHMEM_BASE_HOOKS_OWN_WORK_HPP_

#include <atomic>
#include <cstdint>

#include "base/hooks/trace_job.hpp"

namespace meshmem {

inline constinit std::atomic<NoteWork> note_work{nullptr};

// Work that begins now. Only done() notes it.
class OwnWorkSpan {
 public:
  explicit OwnWorkSpan(OwnWork what)
      : what_(what), note_(note_work.load(std::memory_order_acquire)) {
    if (note_) begin_ = TraceMoment::now();
  }
  OwnWorkSpan(const OwnWorkSpan&) = delete;

  // The trace may have been closed since the work began. Its library stays loaded, so note_ is
  // valid.
  void done(std::uint64_t commands = 0) {
    if (note_) note_(what_, begin_, commands);
  }

 private:
  OwnWork what_;
  NoteWork note_;
  TraceMoment begin_;
};

}  // namespace meshmem

#endif  // MESHMEM_BASE_HOOKS_OWN_WORK_HPP_
