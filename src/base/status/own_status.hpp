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
#include <vector>

#include "base/status/status_board.hpp"

namespace meshmem {

// Uses the board of the oshrun that has started this process (MESHMEM_OSHRUN_STATUS), if there is
// one.
void open_launcher_board();
// Uses this board, unless there is one already. `pe`: this PE's place on it.
void open_board(const StatusBoard& board, int pe);

void set_phase(PePhase phase);

bool has_one_thread();
// True if the board has the PEs of this job, or those of this machine where others are far.
bool has_places_of_job(int me, int n_pes);
// Says whether only the calling thread acts for this PE. That holds while the process has as many
// threads as now, and no child. After one `false` it never holds again.
void set_acts_alone(bool is_only);

// Writes to the board whether only the calling thread may act for this PE. A wait calls it each
// time before it writes what it waits for.
void note_whether_alone();
// Says which PEs wait and can never go on; "": none are known. These are all PEs, or those of a
// circle in which each has to act before the wait of another can end. Each has checked once more
// what it waits for since all began to wait. Only one PE of the job gets the text. Called by waits
// that last, each time that they say what they wait for.
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
  // `awaited`: PEs each of which has to act before the wait can end, if they are known.
  void say(std::string_view what, std::string_view caller = "",
           const std::vector<int>& awaited = {});
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
  bool has_awaited_ = false;  // it has said which PEs have to act
};

// Prints the table of all PEs on standard error. Only the first PE of the job that calls it prints;
// the others return when that is done, or after twelve seconds.
void print_status_table();

}  // namespace meshmem

#endif  // MESHMEM_BASE_STATUS_OWN_STATUS_HPP_
