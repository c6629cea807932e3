// SPDX-License-Identifier: Apache-2.0
//
// A PE's connection to its launcher, by PMIx (pmix_client.cpp) or PMI-1 (pmi_client.cpp). Without a
// launcher it is a connection to the process that has made the job's unique id
// (uniqueid_client.cpp).
// Invariant: a client lives as long as the process. If it fails so that other PEs would wait for
// this one, it ends the process with a line. Called by join_job.cpp alone, which chooses.
#ifndef MESHMEM_BOOTSTRAP_LAUNCHER_CLIENT_HPP_
#define MESHMEM_BOOTSTRAP_LAUNCHER_CLIENT_HPP_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/job.hpp"

namespace meshmem {

// The variable that says how long the PEs wait for each other in shmem_init.
inline constexpr const char* kStartLimit = "MESHMEM_START_TIMEOUT";

// A meeting of the PEs of the node or the job.
struct Meeting {
  Among who;
  bool exchanges;       // whether the PEs also get what the others have published
  const char* routine;  // the program's call, for messages
  double seconds;       // the time limit; 0: none
  const char* limit;    // the variable that sets the limit
};

// A wait, for its messages.
struct AwaitedMeeting {
  std::string what;  // continues "waited 60 s for "
  double seconds;    // 0: for ever
  const char* limit;
};

class LauncherClient {
 public:
  virtual ~LauncherClient() = default;

  // See the functions of these names in job.hpp; meet() is behind exchange_published() and
  // meet_at_*.
  virtual void publish(std::string_view key, std::string_view value, Among who) = 0;
  virtual void meet(const Meeting& meeting) = 0;
  virtual std::string lookup(int pe, std::string_view key) = 0;
  virtual void begin_use() {}
  virtual void end_use(double /*timeout_seconds*/) {}
  virtual void disconnect() = 0;

  // Asks the launcher to end all PEs, unless it must not be asked now (job.hpp). Any thread may
  // call it. It returns.
  virtual void abort(int status, const char* reason) = 0;
};

// These fill the job, and tell the PE's number to set_identity(). If no PMIx server can be reached,
// `client` is null, and `refusal` says why.
struct PmixAnswer {
  LauncherClient* client = nullptr;
  bool may_stand_alone = false;  // there may be no launcher at all
  std::string refusal{};
};
PmixAnswer connect_by_pmix(Job& job, double timeout_seconds);
LauncherClient& connect_by_pmi(Job& job, double timeout_seconds);

// This process's place in a job that starts by a unique id, as the program gave it.
struct PlaceById {
  int pe;
  int n_pes;
  UniqueId id;
  bool is_maker;  // this process has made the id
};
LauncherClient& connect_by_unique_id(Job& job, const PlaceById& place, double timeout_seconds);

// --- What the clients share ------------------------------------------------------------------

// Fills in the PEs of this node; `nodes` has a number for each PE. Returns whether any two PEs of
// the job share a node.
bool fill_in_nodes(Job& job, const std::vector<int>& nodes);

// The meeting of all PEs in shmem_finalize.
Meeting last_meeting(double timeout_seconds);

// The wait in a meeting, with a text such as "all 4 PEs to call shmem_init".
AwaitedMeeting awaited_in(const Meeting& meeting);
// The same for a protocol in which all PEs of the job meet, also if `meeting.who` is the node.
AwaitedMeeting awaited_of_all(Meeting meeting);

// Prints the line and the table for a wait that has reached its limit. The caller then ends the
// process.
void print_end_of_wait(const AwaitedMeeting& awaited, const std::string& addition = "");

// A text that names this machine: its name and its last start. If a launcher does not say which PEs
// share a machine, they compare these texts. A container has its own name, so it counts as a
// machine of its own.
std::string identity_of_host();

}  // namespace meshmem

#endif  // MESHMEM_BOOTSTRAP_LAUNCHER_CLIENT_HPP_
