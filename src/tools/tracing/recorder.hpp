// SPDX-License-Identifier: Apache-2.0
//
// Records calls in this PE's part of the trace, on a track for each thread and stream. Records are
// written in place, so a PE that is killed leaves what it has done.
// Invariant: the thread of a call writes its record. Without room, a call gets a record that nobody
// reads, and is counted. The wrappers (entries) make a Call; library opens and closes the part.
#ifndef MESHMEM_TOOLS_TRACING_RECORDER_HPP_
#define MESHMEM_TOOLS_TRACING_RECORDER_HPP_

#include <string>
#include <type_traits>

#include "tools/interpose/arguments.hpp"
#include "tools/interpose/routines.hpp"
#include "tools/tracing/part_file.hpp"

namespace meshmem::tracing {

// The part of this PE. One at a time.
std::string open_part(const TraceJob& job, const std::string& path);  // "" or why not
int part_fd();
PartHeader& part_header();
void note_moment();     // ticks are converted to ns by it
void stop_recording();  // the call of this thread that is under way ends now
void close_part(bool remove);
void record_calls(bool enabled);  // shmem_pcontrol
void say_what_is_left();          // prints a line, if the job ends without joining the parts

// The record of a call of this thread. These set its routine, begin and end.
Record* begin_call(Number routine);
void end_call(Record* record);
// For routines that programs call in loops: calls in a row that find the same become one record.
void end_polling_call(Record* record);

// Where the records of a thread or a stream go.
struct Track {
  unsigned part = 0;
  Record* next = nullptr;
  Record* end = nullptr;
  Record* first = nullptr;
  const char* name = nullptr;  // nullptr: that of the thread
};
// Adds a whole record, of something that is over. One thread at a time calls it for a track.
void record_on(Track& track, const Record& record);
bool is_recording();
std::uint64_t now_in_ticks();

// Records a call of this thread that has begun at `begin` and ends now.
void record_since(const TraceMoment& begin, Record record);
// Records what a thread of the library has done since `begin`.
void record_own_work(OwnWork what, const TraceMoment& begin, std::uint64_t commands);

// polls: programs call it in loops. has_room: the result goes where other routines have a source.
template <bool polls, bool has_room>
class Call {
 public:
  explicit Call(Number routine) : record_(begin_call(routine)) {}
  ~Call() { polls ? end_polling_call(record_) : end_call(record_); }
  Call(const Call&) = delete;

  Record& record() { return *record_; }
  template <typename R>
  void note_result(R result) {
    if constexpr (has_room) {
      record_->source = bits_of(result);
      record_->has_result = 1;
    }
  }

 private:
  Record* record_;
};

// (routine(...), call) notes and returns the routine's result. If that is void, the built-in comma
// returns the call itself.
template <typename R, bool polls, bool has_room>
R operator,(R result, Call<polls, has_room>& call) {
  call.note_result(result);
  return result;
}

}  // namespace meshmem::tracing

#endif  // MESHMEM_TOOLS_TRACING_RECORDER_HPP_
