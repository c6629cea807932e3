// SPDX-License-Identifier: Apache-2.0
//
// This PE's part of the board on which all PEs say what they wait for.
// Invariant: without a board everything here does nothing; what a wait says costs nothing before
// the wait has lasted a millisecond. Called by waits, start-up and the end of the job.
#ifndef MESHMEM_BASE_STATUS_OWN_STATUS_HPP_
#define MESHMEM_BASE_STATUS_OWN_STATUS_HPP_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status/status_board.hpp"

namespace meshmem {

// Uses the board of the oshrun that has started this process (MESHMEM_OSHRUN_STATUS), if there is
// one.
void open_launcher_board();
// Uses this board, if there is none yet. `pe`: its place there.
void open_board(const StatusBoard& board, int pe);

void set_phase(PePhase phase);

bool has_one_thread();
// Says whether the calling thread alone acts for this PE, as long as the process has no more
// threads than now, and no child.
void note_only_thread(bool is_only);

// Says on the board whether anything but the calling thread may act for this PE. Waits call it each
// time before they say what they wait for.
void note_whether_alone();
// Says whom the calling thread waits for in the queue of a lock; -1: no longer.
void note_blocker(int pe);
// Says which PEs wait and can never go on; "": none are known. These are all PEs, or those of a
// circle in which each has to release a lock before the next can. Each has looked after all had
// begun to wait. Called by waits that last, each time that they say what they wait for. Answers the
// first of those PEs alone.
std::string text_of_deadlock();

// Returns when the processes of the other PEs on the board have ended, or after a minute.
void await_ends_of_others();

// A wait while others can see it.
class ShownWait {
 public:
  explicit ShownWait(std::uint64_t since_ns, bool of_kernel = false);
  ~ShownWait();
  ShownWait(const ShownWait&) = delete;
  ShownWait& operator=(const ShownWait&) = delete;
  void say(std::string_view what, std::string_view caller = "");

 private:
  PeStatus* pe_;
  WaitRow* row_ = nullptr;
  std::uint64_t since_ns_;
};

// The table of all PEs on standard error, by the first PE of the job that calls it; the others
// return when that is done.
void print_status_table();

}  // namespace meshmem

#endif  // MESHMEM_BASE_STATUS_OWN_STATUS_HPP_
