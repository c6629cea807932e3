// SPDX-License-Identifier: Apache-2.0
//
// The code that the clients of all protocols share: nodes, meetings and their texts.
#include "bootstrap/launcher_client.hpp"

#include <set>

#include "base/error.hpp"
#include "base/machine/machine.hpp"
#include "base/status/own_status.hpp"

namespace meshmem {

bool fill_in_nodes(Job& job, const std::vector<int>& nodes) {
  for (int pe = 0; pe < job.n_pes; ++pe) {
    if (nodes[pe] == nodes[job.pe]) job.node_pes.push_back(pe);
  }
  return std::set(nodes.begin(), nodes.end()).size() < nodes.size();
}

Meeting last_meeting(double timeout_seconds) {
  return {Among::job, false, "shmem_finalize", timeout_seconds, "MESHMEM_TIMEOUT"};
}

AwaitedMeeting awaited_in(const Meeting& meeting) {
  const Job& job = joined_job();
  const std::string pes = meeting.who == Among::job
                              ? fmt::format("all {} PEs", job.n_pes)
                              : fmt::format("the {} PEs of this machine", job.node_pes.size());
  return {fmt::format("{} to call {}", pes, meeting.routine), meeting.seconds, meeting.limit};
}

AwaitedMeeting awaited_of_all(Meeting meeting) {
  meeting.who = Among::job;
  return awaited_in(meeting);
}

void print_end_of_wait(const AwaitedMeeting& awaited, const std::string& addition) {
  print_line(fmt::format("waited {:g} s for {}{}; the limit is {}", awaited.seconds, awaited.what,
                         addition, awaited.limit));
  print_status_table();
}

std::string identity_of_host() { return host_name() + " " + boot_id(); }

}  // namespace meshmem
