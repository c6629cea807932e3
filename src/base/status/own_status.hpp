// SPDX-License-Identifier: Apache-2.0
//
// This PE's part of the board on which all PEs say what they wait for.
// Invariant: without a board nothing here shows, prints or waits. Being shown costs a polling wait
// nothing in its first millisecond. Called by waits, start-up and the end of the job.
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
// Uses this board, unless there is one already. `pe`: this PE's place on it.
void open_board(const StatusBoard& board, int pe);

void set_phase(PePhase phase);

bool has_one_thread();
// Sets whether only the calling thread acts for this PE. That holds while the process has as many
// threads as now, and no child.
void set_acts_alone(bool is_only);

// Writes to the board whether only the calling thread may act for this PE. A wait calls it each
// time before it writes what it waits for.
void note_whether_alone();
// Writes to the board that this PE, `me`, waits in the queue of a lock for `pe`; -1: no longer.
void note_blocker(int me, int pe);
// Says which PEs wait and can never go on; "": none are known. These are all PEs, or those of a
// circle in which each has to release a lock before the next can. Each has checked once more what
// it waits for since all began to wait. Only the first of those PEs gets the text; the others get
// "". Called by waits that last, each time that they say what they wait for.
std::string text_of_deadlock();

// Returns when the processes of the other PEs on the board have ended, or after a minute.
void wait_for_other_processes();

// A wait that others can see on the board.
class ShownWait {
 public:
  explicit ShownWait(std::uint64_t since_ns, bool of_kernel = false);
  ~ShownWait();
  ShownWait(const ShownWait&) = delete;
  ShownWait& operator=(const ShownWait&) = delete;
  void say(std::string_view what, std::string_view caller = "");
  // A table is being made, which names where the program has called.
  bool should_name_caller() const;
  // The next say() has the caller: whoever makes a table waits for it.
  void begin_look_up();

 private:
  void end_look_up();

  PeStatus* pe_;
  WaitRow* row_ = nullptr;
  std::uint64_t since_ns_;
  bool looks_up_ = false;
};

// Prints the table of all PEs on standard error. Only the first PE of the job that calls it prints;
// the others return when that is done, or after twelve seconds.
void print_status_table();

}  // namespace meshmem

#endif  // MESHMEM_BASE_STATUS_OWN_STATUS_HPP_
