// SPDX-License-Identifier: Apache-2.0
//
// Shows tools what the library does: when each routine begins and ends (TraceSpan), and which
// symmetric memory of which PE it reads or writes (note_access).
// Invariant: both compile to nothing where MESHMEM_TRACE is 0, what is installed; a put is a few
// instructions. Called by the entry points of api/ and where transfers and collectives begin.
#ifndef MESHMEM_BASE_TRACE_HPP_
#define MESHMEM_BASE_TRACE_HPP_

#include <atomic>
#include <cstddef>

namespace meshmem {

enum class AccessKind { put, get, atomic, signal, collective };

// The functions of a tool, called in the thread of the routine. A routine may be called by several
// threads at once.
struct TraceObserver {
  void (*begin)(const char* routine);
  void (*end)(const char* routine);
  // `address` is this PE's; the bytes are those of its copy in world PE `pe`. Of a collective: this
  // PE's own buffers.
  void (*access)(AccessKind kind, const void* address, std::size_t bytes, int pe);
};

#if MESHMEM_TRACE

inline constexpr bool kHasTrace = true;

// nullptr: nobody. It must live as long as routines may be under way.
inline constinit std::atomic<const TraceObserver*> trace_observer{nullptr};

class TraceSpan {
 public:
  explicit TraceSpan(const char* routine)
      : observer_(trace_observer.load(std::memory_order_acquire)), routine_(routine) {
    if (observer_) observer_->begin(routine_);
  }
  ~TraceSpan() {
    if (observer_) observer_->end(routine_);
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

 private:
  const TraceObserver* observer_;
  const char* routine_;
};

inline void note_access(AccessKind kind, const void* address, std::size_t bytes, int pe) {
  const TraceObserver* observer = trace_observer.load(std::memory_order_acquire);
  if (observer && bytes > 0) observer->access(kind, address, bytes, pe);
}

#else

inline constexpr bool kHasTrace = false;
struct TraceSpan {
  explicit TraceSpan(const char*) {}
};
inline void note_access(AccessKind, const void*, std::size_t, int) {}

#endif

}  // namespace meshmem

#endif  // MESHMEM_BASE_TRACE_HPP_
