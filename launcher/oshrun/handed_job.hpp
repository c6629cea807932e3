// SPDX-License-Identifier: Apache-2.0
// A job that another launcher runs. oshrun waits for the launcher and corrects its status.
// Invariant: a job that has begun and has not ended well is no success, whatever the launcher says.
// A launcher does not outlive PE 0 of such a job for long. Called by hosts.cpp.
#ifndef MESHMEM_OSHRUN_HANDED_JOB_HPP_
#define MESHMEM_OSHRUN_HANDED_JOB_HPP_

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "unique_fd.hpp"

namespace meshmem {

// The record that PE 0 writes by src/base/status/job_record.hpp.
class JobRecord {
 public:
  JobRecord();  // sets the variable for the PEs; without a port there is no record
  void add_to(std::vector<pollfd>& fds) const;
  void take();
  bool is_failure() const { return has_begun_ && !has_ended_well_; }
  // PE 0 has gone, or its machine, in the middle of the job.
  bool is_lost() const { return is_lost_ && is_failure(); }

 private:
  struct Connection {
    UniqueFd fd;
    std::string said;
  };
  void accept_all();
  bool read(Connection& connection);

  UniqueFd port_;
  std::string secret_;
  std::vector<Connection> connections_;
  bool has_begun_ = false, has_ended_well_ = false, is_lost_ = false;
};

// Runs this command line to its end, and passes on signals. Returns oshrun's status.
int run_launcher(const std::vector<std::string>& words, JobRecord& record);

}  // namespace meshmem

#endif  // MESHMEM_OSHRUN_HANDED_JOB_HPP_
