// SPDX-License-Identifier: Apache-2.0
//
// The job as the launcher knows it: who am I, who is on my node, one exchange of data, and the end
// of the job. PMIx is behind it; without a launcher the job is one PE.
// Invariant: the process connects once and stays connected until it exits, since a PMIx server
// takes a PE that has disconnected for gone. Called by core/ at start-up and when the job must end.
#ifndef MESHMEM_BOOTSTRAP_JOB_HPP_
#define MESHMEM_BOOTSTRAP_JOB_HPP_

#include <string>
#include <string_view>
#include <vector>

namespace meshmem {

struct Job {
  int pe = 0;
  int n_pes = 1;
  std::vector<int> node_pes;  // PEs of this node, ascending, this one included
  bool launched = false;      // by a launcher with a PMIx server
  // oshrun tells the PEs apart as if they were on several nodes, for tests; they can map one arena.
  bool has_fake_nodes = false;
};

// Connects to the launcher; ends the process with a message if a launcher is there but cannot be
// reached, or does not answer in time (0: whenever it does).
const Job& connect_to_launcher(double timeout_seconds);

// One exchange: publish() any number of times, exchange() by all PEs, then lookup().
void publish(std::string_view key, std::string_view value);
void exchange_published(double timeout_seconds);
std::string lookup(int pe, std::string_view key);

// Ends all PEs and this process. Never called while a PE may be in exchange_published, which some
// launchers answer with a hang. `reason` tells the launcher that it was an error; nullptr: the
// program asked for it.
[[noreturn]] void abort_job(int status, const char* reason = nullptr);

// Says goodbye, so that the end of the process is no failure. At exit only.
void disconnect_from_launcher();

}  // namespace meshmem

#endif  // MESHMEM_BOOTSTRAP_JOB_HPP_
