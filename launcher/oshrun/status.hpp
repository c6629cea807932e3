// SPDX-License-Identifier: Apache-2.0
// Shows where each PE is: oshrun makes the board on which PEs write what they wait for
// (src/base/status/status_board.hpp), and prints it as a table.
// Invariant: oshrun writes to the board only which process a PE is and how it ended; it trusts
// nothing that it reads there.
// Made by main(), used by running_job.cpp. `oshrun --status` only calls show_status_of().
#ifndef MESHMEM_OSHRUN_STATUS_HPP_
#define MESHMEM_OSHRUN_STATUS_HPP_

#include <sys/types.h>

#include <string>

#include "base/status/status_board.hpp"
#include "children.hpp"
#include "pipe.hpp"

namespace meshmem {

class StatusFile {
 public:
  // `pmix_job` is the job's name for the PMIx server.
  StatusFile(int pes, const std::string& program, const std::string& pmix_job);

  // The variable by which a PE finds the file, as NAME=VALUE.
  std::string variable() const;
  void note_start(int pe, pid_t pid) { board_.pe(pe).pid.store(pid); }
  void note_end(int pe, const ChildEnd& end);
  // shmem_init has returned, as the PE's library says.
  bool is_running(int pe) const { return board_.pe(pe).phase.load() == PePhase::running; }
  // The last shmem_finalize has returned, as the PE's library says.
  bool has_finalized(int pe) const { return board_.pe(pe).phase.load() == PePhase::finalized; }
  std::string table() const;

 private:
  UniqueFd file_;
  StatusBoard board_;
};

// Prints the table of the job of another oshrun, by its process id.
void show_status_of(pid_t oshrun);

}  // namespace meshmem

#endif  // MESHMEM_OSHRUN_STATUS_HPP_
